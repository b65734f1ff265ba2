"""The training environment is built as an operation; samples that wait for it are told."""

from pathlib import Path
from typing import Any

import pytest

from cluster.domain.states import EnvironmentState, OperationState
from cluster.services import datasets
from cluster.services.context import Cluster
from cluster.services.images.environments import ensure_default_environment, read_default_environment
from cluster.services.people.users import service_actor
from cluster.store.operations import Operation
from tests.builders import a_user, a_workspace, actor_of
from worker.environments.build_steps import BuildStep
from worker.tasks import environments
from worker.tasks.environments import find_uv
from worker.tasks.run import run_claimed


@pytest.fixture
def operation_id(light_cluster: Cluster) -> int:
    ensure_default_environment(light_cluster, service_actor(light_cluster), "d1", "/e")
    environment = read_default_environment(light_cluster)
    assert environment is not None and environment.operation_id is not None
    return environment.operation_id


def row(cluster: Cluster, operation_id: int) -> Operation:
    with cluster.store.read() as session:
        return session.get_one(Operation, operation_id)


def test_a_built_environment_is_ready_and_its_samples_are_enqueued(
    light_cluster: Cluster, operation_id: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    manager = a_user(light_cluster)
    sample = datasets.create_sample(light_cluster, actor_of(manager), a_workspace(light_cluster, manager).id)
    light_cluster.events.enqueued.clear()  # type: ignore[attr-defined]
    built: dict[str, Any] = {}

    def build(description: Any, cache: Path, report: Any, *, uv: Path, log: Path) -> Path:
        report(BuildStep.COMPILE, 0.5, "42 of 105 files")
        built.update(cache=cache, log=log, steps=row(light_cluster, operation_id).steps)
        return tmp_path

    monkeypatch.setattr(environments, "build_environment", build)
    monkeypatch.setattr(environments, "read_environment_contents", lambda path: [("torch", "2.5", "models")])
    run_claimed(light_cluster, operation_id)
    environment = read_default_environment(light_cluster)
    assert environment is not None and environment.state is EnvironmentState.READY
    assert environment.contents == [["torch", "2.5", "models"]]
    assert built["cache"] == light_cluster.settings.cache_dir
    assert built["log"].name == f"operation-{operation_id}.log"
    assert {step["code"]: step["state"] for step in built["steps"]}[BuildStep.COMPILE] == "now"
    assert light_cluster.events.enqueued == [("general", sample.operation_id)]  # type: ignore[attr-defined]


def test_a_build_that_fails_says_so_in_both_rows(
    light_cluster: Cluster, operation_id: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def build(*_: Any, **__: Any) -> Path:
        raise RuntimeError("no compiler")

    monkeypatch.setattr(environments, "build_environment", build)
    run_claimed(light_cluster, operation_id)
    operation, environment = row(light_cluster, operation_id), read_default_environment(light_cluster)
    assert (operation.state, operation.error_code) == (OperationState.FAILED, "operation.broken")
    assert environment is not None and environment.state is EnvironmentState.FAILED


def test_uv_beside_this_interpreter_is_taken_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(environments.sys, "executable", str(tmp_path / "python"))
    monkeypatch.setattr(environments.shutil, "which", lambda name: "/usr/bin/uv")
    assert find_uv() == Path("/usr/bin/uv")
    (tmp_path / "uv").touch()
    assert find_uv() == tmp_path / "uv"
