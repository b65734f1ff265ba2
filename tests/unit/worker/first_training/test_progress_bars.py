"""The steps of a first training are shown as bars."""

import pytest

from cluster.domain.states import EnvironmentState, OperationState
from cluster.services.context import Cluster
from cluster.services.images.environments import ensure_default_environment
from cluster.services.operations import lifecycle
from cluster.services.people.users import service_actor
from cluster.store.environments import Environment
from tests.builders import a_node
from worker.first_training import run
from worker.first_training.progress_bars import StageProgressBars
from worker.first_training.run import (
    FirstTrainingFailed,
)


@pytest.fixture(autouse=True)
def english(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LC_ALL", "C.UTF-8")
    monkeypatch.setattr(run, "POLL_SECONDS", 0.01)
    monkeypatch.setattr(run, "NODE_TIMEOUT", 0.05)


def test_an_environment_that_cannot_be_built_is_said_with_its_page(
    light_cluster: Cluster, capsys: pytest.CaptureFixture[str]
) -> None:
    a_node(light_cluster, units=2)
    pilot = service_actor(light_cluster)
    environment = ensure_default_environment(light_cluster, pilot, "d1", "/cache/training-d1")
    assert environment.operation_id is not None
    with light_cluster.store.write() as session:
        operation = session.get_one(lifecycle.Operation, environment.operation_id)
        operation.state, operation.error_code = OperationState.FAILED, "environment.no_network"
        session.get_one(Environment, environment.id).state = EnvironmentState.FAILED
    with pytest.raises(FirstTrainingFailed):
        run.wait_for_environment(light_cluster, pilot, StageProgressBars())
    said = capsys.readouterr().err
    assert "The package server does not answer." in said
    assert f"/operations/{environment.operation_id}" in said
