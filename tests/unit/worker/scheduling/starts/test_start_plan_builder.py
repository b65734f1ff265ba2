"""An executor gets the same start plan of an attempt for a process as for a container."""

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from cluster.domain.errors import Refused
from cluster.domain.executors import ExecutorKind
from cluster.domain.jobs.resume_points import ResumePoint
from cluster.domain.states import DatasetKind, Launcher, TrainingKind, UnitKind
from cluster.services.context import Cluster
from cluster.services.storage import folders
from cluster.settings import Settings
from cluster.store.jobs import Attempt, Job
from cluster.store.nodes import Allocation, Node
from cluster.store.users import User
from cluster.store.workspaces import Workspace
from tests.builders import a_dataset, a_job, a_node, a_training, a_workspace, add
from tests.integration.worker.scheduling.conftest import as_environment
from worker.executors.contract import ProgramPlan, StartPlan
from worker.scheduling.starts import program_plan
from worker.scheduling.starts.start_plan_builder import build_start_plan

RUNTIME = Path("/state/runtime/abc")
GIB = 1024**3


def plan_of(
    cluster: Cluster,
    executor: str,
    units: int = 1,
    resume: ResumePoint | None = None,
    kind: UnitKind = UnitKind.GPU,
    is_gang: bool = False,
    memory_bytes: int | None = None,
) -> StartPlan:
    """A job of own code with a dataset on a node of four GPUs, 16 processors and 64 GiB; a gang has one more there."""
    as_environment(cluster)
    node = a_node(cluster, units=4, kind=kind, name="gpu01")
    with cluster.store.write() as session:
        session.get_one(Node, node.id).facts = {
            "cpus": 16,
            "memory_bytes": 64 * GIB,
            "gpu_minors": {unit.identity: 10 + number for number, unit in enumerate(node.units)},
        }
    workspace = a_workspace(cluster)
    training = a_training(cluster, workspace, kind=TrainingKind.ADVANCED)
    dataset = a_dataset(cluster, workspace, kind=DatasetKind.PATH, path="/data/digits")
    given = node.units[:units]
    if is_gang:
        given = [*given, a_node(cluster, units=1, kind=kind, name="gpu02").units[0]]
    job = a_job(
        cluster,
        training,
        units=len(given),
        dataset_id=dataset.id,
        command=["train.py"],
        code_version=1,
        memory_bytes=memory_bytes,
        launcher=Launcher.HOROVOD if is_gang else Launcher.PLAIN,
    )
    attempt = Attempt(
        job_id=job.id,
        number=2,
        node_id=node.id,
        created_at=cluster.clock(),
        allocations=[Allocation(unit_id=unit.id, begun_at=cluster.clock()) for unit in given],
    )
    add(cluster, attempt)
    images = {"docker_image": "gc-image:1", "kubernetes_image": "registry.example/training@1"}
    settings = replace(cluster.settings, executor=ExecutorKind(executor), **images)
    return build_start_plan(replace(cluster, settings=settings), RUNTIME, attempt.id, resume)


def test_a_process_finds_everything_where_it_lies(light_cluster: Cluster) -> None:
    plan = plan_of(light_cluster, "process")
    assert plan.container.mounts == ()
    assert plan.program.environment["GROUNDCREW_OUT"] == str(plan.out)
    assert plan.program.environment["GROUNDCREW_DATASET"] == "/data/digits"
    assert plan.program.environment["PYTHONPATH"] == str(RUNTIME)
    assert plan.program.code == light_cluster.settings.storage_dir / "workspaces/1/code/1/1"
    assert plan.to_json()["out"] == str(plan.out)


def test_a_container_finds_everything_at_the_same_few_places(light_cluster: Cluster) -> None:
    plan = plan_of(light_cluster, "docker")
    storage = light_cluster.settings.storage_dir / "workspaces/1"
    environment = light_cluster.settings.state_dir / "environment"
    assert {str(mount.target): mount.source for mount in plan.container.mounts} == {
        "/groundcrew/runtime": RUNTIME,
        "/groundcrew/dataset": Path("/data/digits"),
        "/groundcrew/code": storage / "code/1/1",
        str(environment): environment,
    }
    assert plan.container.image == "gc-image:1"
    told = plan.to_json()
    assert (told["out"], told["cwd"]) == ("/groundcrew/attempt/out", "/groundcrew/attempt/out/work")
    assert told["code"] == "/groundcrew/code"
    assert plan.program.environment["GROUNDCREW_OUT"] == "/groundcrew/attempt/out"
    assert plan.program.environment["GROUNDCREW_CODE"] == "/groundcrew/attempt/out/work"
    assert plan.program.environment["GROUNDCREW_DATASET"] == "/groundcrew/dataset"
    assert str(storage) not in " ".join([*plan.program.argv, *plan.program.environment.values()])
    assert plan.folder == storage / f"jobs/{plan.job}/2"


@pytest.mark.parametrize(("units", "cpus", "memory"), [(1, 4.0, 14.4), (3, 12.0, 43.2), (4, 16.0, 57.6)])
def test_a_job_gets_the_share_of_the_node_that_its_units_are(
    light_cluster: Cluster, units: int, cpus: float, memory: float
) -> None:
    plan = plan_of(light_cluster, "docker", units=units)
    assert plan.placement.cpus == cpus
    assert plan.placement.memory_bytes == int(memory * GIB)
    assert len(plan.placement.gpus) == units and all(uuid.startswith("GPU-") for uuid in plan.placement.gpus)
    assert plan.placement.nodes == ("gpu01",)


@pytest.mark.parametrize(
    ("units", "asked", "overcommit", "limit"),
    [
        (1, None, 100, 14.4),
        (1, 2, 100, 2),
        (2, 28, 100, 28),
        # The node has become smaller since, or the setting was another one: never more than what is there for it.
        (1, 40, 100, 14.4),
        (1, 40, 200, 28.8),
        (1, 90, 1000, 57.6),
        (1, None, 200, 14.4),
    ],
)
def test_a_job_gets_the_memory_that_it_asks_for_within_what_its_units_may(
    light_cluster: Cluster, units: int, asked: int | None, overcommit: int, limit: float
) -> None:
    cluster = replace(light_cluster, settings=replace(light_cluster.settings, memory_overcommit=overcommit))
    plan = plan_of(cluster, "process", units=units, memory_bytes=asked * GIB if asked else None)
    assert plan.placement.memory_bytes == int(limit * GIB)
    assert plan.placement.most_processes == units * 4096


def test_a_processs_sandbox_shows_what_it_was_given_and_hides_the_rest(
    light_cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folders, "IS_ROOT", True)
    plan = plan_of(light_cluster, "process", resume=ResumePoint(1, "epoch-0004.weights.h5", 4))
    settings = light_cluster.settings
    assert plan.sandbox and plan.sandbox.hidden == (settings.state_dir, settings.backups)
    assert set(plan.sandbox.shown) == {
        RUNTIME,
        Path("/data/digits"),
        plan.program.code,
        plan.folder.with_name("1") / "out",
        settings.state_dir / "environment",
    }
    assert plan.sandbox.uids == settings.job_ids.uid_range
    assert plan.to_json()["sandbox"]["memory_bytes"] == plan.placement.memory_bytes


@pytest.mark.parametrize(
    ("executor", "are_root"), [("process", False), ("docker", True), ("simulated", True)]
)
def test_only_a_root_shim_makes_a_sandbox(
    light_cluster: Cluster, monkeypatch: pytest.MonkeyPatch, executor: str, are_root: bool
) -> None:
    monkeypatch.setattr(folders, "IS_ROOT", are_root)
    assert plan_of(light_cluster, executor).to_json()["sandbox"] is None


def test_a_container_sees_the_former_attempt_and_no_link_that_its_program_left(
    light_cluster: Cluster,
) -> None:
    """`checkpoints` may be a link to anywhere: inside the container it leads nowhere else."""
    plan = plan_of(light_cluster, "docker", resume=ResumePoint(1, "epoch-0004.weights.h5", 4))
    former = plan.folder.with_name("1") / "out"
    assert {mount.source: str(mount.target) for mount in plan.container.mounts}[
        former
    ] == "/groundcrew/former"
    assert plan.program.environment["GROUNDCREW_RESUME"] == "/groundcrew/former/checkpoints"


@pytest.mark.parametrize(
    ("executor", "kind", "shown"),
    [
        ("process", UnitKind.GPU, "{state}/telemetry/gpu01.json"),
        ("docker", UnitKind.GPU, "/groundcrew/telemetry/gpu01.json"),
        ("docker", UnitKind.CPU_SLOT, None),
    ],
)
def test_what_the_agent_measures_of_gpus_is_shown_to_the_shim(
    light_cluster: Cluster, executor: str, kind: UnitKind, shown: str | None
) -> None:
    folder = light_cluster.settings.state_dir / "telemetry"
    folder.mkdir()
    plan = plan_of(light_cluster, executor, kind=kind)
    state = light_cluster.settings.state_dir
    assert plan.to_json()["telemetry"] == (shown.format(state=state) if shown else None)
    is_mounted = folder in [mount.source for mount in plan.container.mounts]
    assert is_mounted == (shown is not None and executor == "docker")


def test_a_pod_finds_what_its_image_and_the_cluster_bring(light_cluster: Cluster) -> None:
    """Nothing of the master's own paths, and no GPU by a number that the kubelet may not have chosen."""
    plan = plan_of(light_cluster, "kubernetes", units=2)
    assert {str(mount.target) for mount in plan.container.mounts} == {
        "/groundcrew/dataset",
        "/groundcrew/code",
    }
    assert (plan.container.image, plan.placement.gang, plan.placement.units_by_node) == (
        "registry.example/training@1",
        "none",
        (("gpu01", 2),),
    )
    assert plan.program.argv[0] == "/opt/groundcrew/training/bin/python"
    assert "CUDA_VISIBLE_DEVICES" not in plan.program.environment


def test_a_pod_on_cpu_slots_hides_every_gpu(light_cluster: Cluster) -> None:
    plan = plan_of(light_cluster, "kubernetes", kind=UnitKind.CPU_SLOT)
    assert plan.program.environment["CUDA_VISIBLE_DEVICES"] == ""


def test_ranks_of_a_gang_are_told_every_variable_also_from_where_to_go_on(light_cluster: Cluster) -> None:
    resume = ResumePoint(1, "epoch-0004.weights.h5", 4)
    plan = plan_of(light_cluster, "kubernetes", resume=resume, kind=UnitKind.CPU_SLOT, is_gang=True)
    assert plan.program.environment["GROUNDCREW_RESUME"] == "/groundcrew/former/checkpoints"
    told = {name for word, name in pairwise(plan.program.argv) if word == "-x"}
    assert told - {"NCCL_SOCKET_IFNAME=eth0"} == set(plan.program.environment)


@pytest.mark.parametrize(
    ("row", "code"),
    [
        (User, "job.user_number_outside"),
        (Workspace, "job.workspace_number_outside"),
    ],
)
@pytest.mark.parametrize("number", [-100_000, -99_000, 0x100000])
def test_a_row_of_somebody_who_is_none_of_our_users_starts_nothing(number: int, row: type, code: str) -> None:
    """Who writes into the database would have it run as root, or in the group of a disk."""
    job = Job(
        user_id=number if row is User else 1,
        workspace_id=number if row is Workspace else 1,
    )
    settings = Settings(Path("/"), Path("/"), "", "", "")
    with pytest.MonkeyPatch.context() as patch, pytest.raises(Refused) as refused:
        patch.setattr(folders, "IS_ROOT", True)
        program_plan.as_job_user(settings, job, ProgramPlan(("true",), {}))
    assert (refused.value.code, refused.value.data["number"]) == (code, 100_000 + number)


def test_a_process_is_told_its_limits_and_its_device_files(light_cluster: Cluster) -> None:
    plan = plan_of(light_cluster, "process", units=2)
    written = plan.to_json()
    # Two of four units: half of nine tenths of 64 GiB.
    assert written["memory_bytes"] == int(64 * GIB * 0.9 / 2)
    assert written["gpu_minors"] == {uuid: 10 + number for number, uuid in enumerate(plan.placement.gpus)}
