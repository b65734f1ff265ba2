"""The training environment multiplies on the GPUs of its machine that no job holds."""

import sys
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

from cluster.domain.errors import Unavailable
from cluster.domain.states import EnvironmentState, JobState, UnitKind
from cluster.services.context import Cluster
from cluster.store.environments import Environment
from cluster.store.facts import InstallationFact
from cluster.store.nodes import Unit
from tests.builders import a_job, a_node, a_training, a_workspace, add, holding
from worker.environments import gpu_check

HOST = "gpu01"
GOOD: dict[str, Any] = {"framework": "fake 1.0", "is_simulated": False, "gpus": [], "problem": ""}


@pytest.fixture
def cluster(light_cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> Cluster:
    monkeypatch.setattr(gpu_check, "read_host_name", lambda: HOST)
    environment = Environment(
        name="default",
        digest="d",
        path="/environment",
        state=EnvironmentState.READY,
        created_at=light_cluster.clock(),
    )
    add(light_cluster, environment)
    add(light_cluster, InstallationFact(name="default_environment", value={"digest": "d"}))
    return light_cluster


def multiply(cluster: Cluster, monkeypatch: pytest.MonkeyPatch, answer: dict[str, Any]) -> list[list[str]]:
    """On which GPUs it was asked to."""
    asked: list[list[str]] = []

    def answer_at_once(python: Path, runtime: Path, gpus: list[str]) -> dict[str, Any]:
        asked.append(gpus)
        return answer

    monkeypatch.setattr(gpu_check, "run_check", answer_at_once)
    return asked


def test_gpus_that_a_job_holds_are_left_alone(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    node = a_node(cluster, 3, name=HOST, kind=UnitKind.GPU)
    a_node(cluster, 2, name="gpu02", kind=UnitKind.GPU)
    job = a_job(cluster, a_training(cluster, a_workspace(cluster)), state=JobState.RUNNING)
    holding(cluster, job, node.units[:1])
    asked = multiply(cluster, monkeypatch, GOOD)
    assert gpu_check.check_own_gpus(cluster)["busy"] == 1
    assert asked == [[unit.identity for unit in node.units[1:]]]


def test_nothing_is_asked_of_an_environment_for_cpus(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    a_node(cluster, 1, name=HOST, kind=UnitKind.GPU)
    with cluster.store.write() as session:
        session.scalars(select(Environment)).one().contents = [["tensorflow-cpu", "2.18.1", ""]]
    asked = multiply(cluster, monkeypatch, GOOD)
    assert "built for CPUs" in gpu_check.check_own_gpus(cluster)["skipped"] and asked == []


def test_nothing_is_asked_where_jobs_hold_every_gpu(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    node = a_node(cluster, 1, name=HOST, kind=UnitKind.GPU)
    job = a_job(cluster, a_training(cluster, a_workspace(cluster)), state=JobState.RUNNING)
    holding(cluster, job, node.units)
    asked = multiply(cluster, monkeypatch, GOOD)
    assert gpu_check.check_own_gpus(cluster)["skipped"] == "jobs hold all GPUs" and asked == []


def test_simulated_gpus_are_none(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    node = a_node(cluster, 2, name=HOST, kind=UnitKind.GPU)
    with cluster.store.write() as session:
        for unit in node.units:
            session.get_one(Unit, unit.id).simulated = True
    asked = multiply(cluster, monkeypatch, GOOD | {"is_simulated": True})
    assert gpu_check.check_own_gpus(cluster)["is_simulated"] and asked == [[]]


def test_a_gpu_that_computes_something_else_is_an_error_with_its_words(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    a_node(cluster, 1, name=HOST, kind=UnitKind.GPU)
    multiply(cluster, monkeypatch, GOOD | {"problem": "GPU-1: CUDA error: 802"})
    with pytest.raises(Unavailable) as failed:
        gpu_check.check_own_gpus(cluster)
    assert failed.value.code == "gpu_check.failed" and "802" in failed.value.data["problem"]


def test_without_an_environment_nothing_can_be_said(light_cluster: Cluster) -> None:
    with pytest.raises(Unavailable) as failed:
        gpu_check.check_own_gpus(light_cluster)
    assert failed.value.code == "gpu_check.no_environment"


def test_the_program_is_found_in_the_job_runtime(light_cluster: Cluster) -> None:
    """This Python has no framework, which the program itself says."""
    runtime = gpu_check.install_runtime(light_cluster.settings.runtime_dir, light_cluster.settings.job_ids)
    found = gpu_check.run_check(Path(sys.executable), runtime, [])
    assert "neither torch nor tensorflow" in found["problem"]


def test_a_program_that_dies_leaves_its_last_words(tmp_path: Path) -> None:
    with pytest.raises(Unavailable) as failed:
        gpu_check.run_check(Path(sys.executable), tmp_path, ["GPU-1"])
    assert "groundcrew_models" in failed.value.data["problem"]
