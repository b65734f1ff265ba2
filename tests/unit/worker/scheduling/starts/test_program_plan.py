"""The program of an attempt: its command, how the ranks of a gang find each other, and as whom it runs."""

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from cluster.domain.errors import Refused
from cluster.domain.executors import ExecutorKind
from cluster.domain.jobs.launch import JobFolders
from cluster.domain.states import Launcher, TrainingKind
from cluster.services.storage import folders
from cluster.settings import Settings
from cluster.store.jobs import Attempt, Job
from worker.executors.contract import ProgramPlan
from worker.kubernetes.manifests.run_spec import GangKind
from worker.scheduling.starts.program_plan import (
    ProgramPaths,
    as_job_user,
    choose_gang_launch,
    job_program,
)
from worker.scheduling.starts.start_rows import job_interfaces

PYTHON = "/env/bin/python"
PATHS = ProgramPaths(
    attempt=Path("/storage/jobs/7/1"),
    attempt_inside=Path("/groundcrew/attempt"),
    environment=Path("/env"),
    python=Path(PYTHON),
    folders=JobFolders("/runtime", "/out", "/out/work", ""),
    code=Path("/code"),
    checkpoints=None,
)


def settings_of(kind: ExecutorKind, **changes: Any) -> Settings:
    return replace(Settings(Path("/"), Path("/"), "", "", ""), executor=kind, **changes)


def job(launcher: Launcher = Launcher.PLAIN, kind: TrainingKind = TrainingKind.ADVANCED) -> Job:
    training = SimpleNamespace(kind=kind, model="lenet")
    fields = {"id": 7, "units": 2, "launcher": launcher, "command": ["train.py"], "training": training}
    return cast(Job, SimpleNamespace(**fields, user_id=3, workspace_id=4))


def attempt(launcher: Launcher, *nodes: str) -> Attempt:
    """With one unit on each of these nodes."""
    facts = {"interface_purposes": {"training": ["ens1"]}, "interfaces": [{"name": "ens1", "is_up": True}]}
    held = [
        SimpleNamespace(unit=SimpleNamespace(node=SimpleNamespace(name=name, facts=facts))) for name in nodes
    ]
    node = SimpleNamespace(name=nodes[0])
    return cast(Attempt, SimpleNamespace(job=job(launcher), number=2, node=node, allocations=held))


@pytest.mark.parametrize(
    ("kind", "nodes", "launcher", "horovod_over", "gang"),
    [
        (ExecutorKind.PROCESS, ("a", "a"), Launcher.HOROVOD, "mpi", GangKind.NONE),
        (ExecutorKind.SIMULATED, ("a", "b"), Launcher.HOROVOD, "mpi", GangKind.NONE),
        (ExecutorKind.KUBERNETES, ("a", "a"), Launcher.HOROVOD, "mpi", GangKind.NONE),
        (ExecutorKind.KUBERNETES, ("a", "b"), Launcher.HOROVOD, "mpi", GangKind.MPI),
        (ExecutorKind.KUBERNETES, ("a", "b"), Launcher.HOROVOD, "gloo", GangKind.INDEXED),
        (ExecutorKind.KUBERNETES, ("a", "b"), Launcher.TORCHRUN, "mpi", GangKind.INDEXED),
    ],
)
def test_ranks_on_several_nodes_are_several_pods_where_nodes_run_jobs_themselves(
    kind: ExecutorKind, nodes: tuple[str, ...], launcher: Launcher, horovod_over: str, gang: GangKind
) -> None:
    settings = settings_of(kind, horovod_over=horovod_over)
    found, plan = choose_gang_launch(settings, attempt(launcher, *nodes), PATHS, ["A"])
    assert found is gang
    assert plan.ranks == 2
    words = " ".join(plan.command)
    assert ("gc-7-2-0.gc-7-2" in words) is (gang is GangKind.INDEXED)
    assert ("mpirun" in words and "--wdir /out/work" in words) is (gang is GangKind.MPI)


@pytest.mark.parametrize(
    ("kind", "interfaces"), [(ExecutorKind.PROCESS, ("ens1",)), (ExecutorKind.KUBERNETES, ("eth0",))]
)
def test_only_programs_on_the_hosts_network_use_the_nodes_interfaces(
    kind: ExecutorKind, interfaces: tuple[str, ...]
) -> None:
    assert job_interfaces(settings_of(kind), attempt(Launcher.HOROVOD, "a", "b")) == interfaces


@pytest.mark.parametrize(
    ("kind", "words"),
    [(TrainingKind.ADVANCED, "train.py"), (TrainingKind.BUILT_IN, "lenet")],
)
def test_a_built_in_model_is_a_program_of_ours(kind: TrainingKind, words: str) -> None:
    program = job_program(job(kind=kind), PYTHON)
    assert words in " ".join(program)
    assert ("train.py" in program) is (kind is TrainingKind.ADVANCED)


@pytest.mark.parametrize(("is_root", "uid", "gid"), [(True, 100_003, 100_004), (False, None, None)])
def test_as_root_a_job_runs_as_its_users_own_number(
    monkeypatch: pytest.MonkeyPatch, is_root: bool, uid: int | None, gid: int | None
) -> None:
    monkeypatch.setattr(folders, "IS_ROOT", is_root)
    plan = as_job_user(settings_of(ExecutorKind.PROCESS), job(), ProgramPlan(("true",), {}))
    assert (plan.uid, plan.gid, plan.argv) == (uid, gid, ("true",))


def test_as_root_no_job_runs_as_a_number_of_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folders, "IS_ROOT", True)
    stranger = job()
    stranger.user_id = -100_000
    with pytest.raises(Refused):
        as_job_user(settings_of(ExecutorKind.PROCESS), stranger, ProgramPlan(("true",), {}))
