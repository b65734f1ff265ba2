"""An executor on an API server that has a few objects, and a plan of two members."""

from pathlib import Path

import pytest

from cluster.domain.jobs.unix_ids import JobUnixIds
from tests.start_plans import a_start_plan
from tests.unit.worker.kubernetes.fake_api import USER, WORKSPACE, FewObjects, here
from worker.executors.contract import StartPlan
from worker.executors.kubernetes import KubernetesExecutor
from worker.kubernetes import object_names


@pytest.fixture
def runtime(tmp_path: Path) -> Path:
    folder = tmp_path / "runtime"
    folder.mkdir()
    (folder / "shim.py").write_text("")
    return folder


@pytest.fixture
def storage(tmp_path: Path) -> Path:
    (tmp_path / "storage" / "workspaces").mkdir(parents=True)
    return tmp_path / "storage"


@pytest.fixture
def server() -> FewObjects:
    return FewObjects()


@pytest.fixture
def executor(server: FewObjects, storage: Path, runtime: Path) -> KubernetesExecutor:
    return KubernetesExecutor(server, here, storage, runtime, job_ids=JobUnixIds(USER[0] - 1, USER[1] - 1))  # type: ignore[arg-type]


@pytest.fixture
def plan(storage: Path) -> StartPlan:
    nodes = (("node-1", 1), ("node-2", 1))
    return a_start_plan(
        job=7,
        attempt=1,
        folder=object_names.attempt_path(storage, WORKSPACE, 7, 1),
        argv=("true",),
        environment={},
        nodes=("node-1", "node-2"),
        units_by_node=nodes,
        gang="indexed",
        uid=USER[0],
        gid=USER[1],
        image="registry.example/training:1",
    )
