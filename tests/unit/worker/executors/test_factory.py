"""The executor that the settings name, with the numbers and the capabilities that services know of it."""

from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest

from cluster.domain.executors import ExecutorKind
from cluster.domain.jobs.unix_ids import JobUnixIds
from cluster.services.context import Cluster
from tests.start_plans import a_start_plan
from tests.unit.worker.kubernetes.fake_api import USER, FewObjects
from worker.adapters.docker_engine import DockerEngine
from worker.executors import factory
from worker.executors.contract import Executor, NotStarted
from worker.executors.docker import DockerExecutor
from worker.executors.kubernetes import KubernetesExecutor
from worker.executors.process import ProcessExecutor
from worker.executors.simulated import SimulatedExecutor


@pytest.fixture
def cluster(light_cluster: Cluster, tmp_path: Path) -> Cluster:
    settings = replace(
        light_cluster.settings, uid_base=300_000, gid_base=400_000, kubeconfig=tmp_path / "kubeconfig"
    )
    return replace(light_cluster, settings=settings)


def opened(cluster: Cluster, kind: ExecutorKind, runtime: Path) -> Executor:
    settings = replace(cluster.settings, executor=kind)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(factory, "KubernetesApi", lambda kubeconfig: FewObjects())
        patch.setattr("worker.adapters.docker_engine.DockerEngine", lambda socket: cast(DockerEngine, None))
        return factory.open_executor(replace(cluster, settings=settings), runtime)


@pytest.mark.parametrize(
    ("kind", "executor"),
    [
        (ExecutorKind.PROCESS, ProcessExecutor),
        (ExecutorKind.DOCKER, DockerExecutor),
        (ExecutorKind.KUBERNETES, KubernetesExecutor),
        (ExecutorKind.SIMULATED, SimulatedExecutor),
    ],
)
def test_the_executor_has_the_capabilities_by_which_services_decide(
    cluster: Cluster, tmp_path: Path, kind: ExecutorKind, executor: type
) -> None:
    found = opened(cluster, kind, tmp_path)
    assert type(found) is executor
    assert found.capabilities is kind.capabilities


@pytest.mark.parametrize("kind", [ExecutorKind.PROCESS, ExecutorKind.DOCKER, ExecutorKind.KUBERNETES])
def test_the_executor_of_an_installation_knows_its_numbers(
    cluster: Cluster, tmp_path: Path, kind: ExecutorKind
) -> None:
    found = opened(cluster, kind, tmp_path)
    assert isinstance(found, ProcessExecutor | DockerExecutor | KubernetesExecutor)
    assert found.job_ids == JobUnixIds(300_000, 400_000)


def test_a_container_runs_on_one_node_and_a_pod_needs_its_image(cluster: Cluster, tmp_path: Path) -> None:
    ids = {"uid": USER[0], "gid": USER[1]}
    gang = a_start_plan(7, 1, tmp_path / "7" / "1", ("true",), {}, nodes=("w1", "w2"), **ids)
    for kind, code in (
        (ExecutorKind.DOCKER, "start.failed"),
        (ExecutorKind.KUBERNETES, "start.no_default_image"),
    ):
        with pytest.raises(NotStarted) as refused:
            opened(cluster, kind, tmp_path).start(gang)
        assert refused.value.code == code
