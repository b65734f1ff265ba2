"""JupyterLab is installed by a task, whose row says how it went."""

from pathlib import Path

import pytest

from cluster.domain.states import OperationState
from cluster.services.context import Cluster
from cluster.services.notebooks import editor_environment
from cluster.services.people.users import service_actor
from cluster.store.operations import Operation
from worker.environments.errors import NoNetwork
from worker.tasks import editors
from worker.tasks.run import run_claimed


def requested(cluster: Cluster) -> int:
    editor_environment.ensure_editor(cluster, service_actor(cluster), Path("/before"), is_built=False)
    with cluster.store.read() as session:
        operation = editor_environment.load_editor_build(session)
    assert operation is not None
    return operation


def test_after_the_build_notebooks_start(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    operation = requested(cluster)
    monkeypatch.setattr(editors, "build_editor", lambda cache, report, **given: Path("/cache/editor-1"))
    run_claimed(cluster, operation)
    with cluster.store.read() as session:
        assert session.get_one(Operation, operation).state is OperationState.FINISHED
        assert editor_environment.load_editor(session) == Path("/cache/editor-1")


def test_a_failed_build_says_why(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    operation = requested(cluster)

    def fail(*given: object, **named: object) -> Path:
        raise NoNetwork("environment.no_network", line="timed out", log="/log")

    monkeypatch.setattr(editors, "build_editor", fail)
    run_claimed(cluster, operation)
    with cluster.store.read() as session:
        row = session.get_one(Operation, operation)
        assert (row.state, row.error_code) == (OperationState.FAILED, "environment.no_network")
        assert editor_environment.load_editor(session) is None
