"""Turns a placed attempt's rows into what an executor needs to start it."""

import os
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypedDict

from sqlalchemy import select
from sqlalchemy.orm import joinedload, selectinload

from cluster.domain import launch
from cluster.domain.resuming import Resume
from cluster.domain.states import Launcher, TrainingKind, UnitKind, UnitState
from cluster.files.checkpoints import FOLDER as CHECKPOINTS
from cluster.services import storage
from cluster.services.context import Cluster
from cluster.services.environments import default_environment
from cluster.services.images import read_default_image
from cluster.settings import Settings
from cluster.store.jobs import Attempt, Job
from cluster.store.nodes import Allocation, Node, Unit
from worker.environments.ready import read_variables
from worker.executors.contract import StartPlan
from worker.kube import names as kube_names
from worker.kube.shapes.run import Gang
from worker.views import View, view_of

WE_ARE_ROOT = os.geteuid() == 0
FOR_JOBS = 0.9
"""Of a node's memory; the rest is for its services."""


class Ids(TypedDict, total=False):
    uid: int
    gid: int
    services: tuple[int, int] | None


class Share(TypedDict, total=False):
    cpus: float
    memory_bytes: int


@dataclass(frozen=True)
class Loaded:
    """Attempts by id with all that their plans are made of, and the folder of the default environment."""

    attempts: Mapping[int, Attempt]
    environment: Path


def read_start_plan(
    cluster: Cluster,
    runtime: Path,
    attempt_id: int,
    resume: Resume | None = None,
    loaded: Loaded | None = None,
) -> StartPlan:
    """Changes nothing. Raises Refused where a row would have the job run as somebody who is none of our users.

    `resume` is shown to the program where it lies: the new attempt runs as the same user. `loaded` is what `load` gave
    for several that begin together.
    """
    settings = cluster.settings
    loaded = loaded or load(cluster, [attempt_id])
    attempt, environment = loaded.attempts[attempt_id], loaded.environment
    job, units = attempt.job, units_of(attempt)
    gpus = tuple(unit.identity for unit in units if unit.kind is UnitKind.GPU)
    folder = storage.attempt_folder(settings, job.workspace_id, job.id, attempt.number)
    view = view_of(settings.executor)
    inside, shown_runtime = view.show_attempt(folder), view.show_runtime(runtime)
    programs = view.show_environment(environment) / "bin"
    code = code_of(settings, job)
    folders = launch.JobFolders(
        runtime=str(shown_runtime),
        out=str(inside / "out"),
        code=str(inside / "out" / "work") if code else str(shown_runtime),
        dataset=dataset_of(settings, job, view),
    )
    # What the master's agents measure is not seen on other nodes.
    is_local = settings.executor != "kubernetes"
    variables = variables_of(attempt, units, folders, programs) | read_variables(environment)
    if resume is not None:
        variables["GROUNDCREW_RESUME"] = show_checkpoints(folder, resume, view)
    if gpus and not is_local:
        # Which ones of the node's they are is the kubelet's choice: all that the pod sees are its own.
        del variables["CUDA_VISIBLE_DEVICES"]
    gang, plan = gang_plan(settings, attempt, folders, str(programs / "python"), sorted(variables))
    by_node = units_by_node(attempt)
    return StartPlan(
        job=job.id,
        attempt=attempt.number,
        folder=folder,
        argv=plan.command,
        environment=variables,
        ranks=plan.ranks,
        code=view.show(code, "code") if code else None,
        **ids_of(settings, job),
        time_limit_seconds=job.time_limit_seconds,
        nodes=nodes_of(attempt),
        units_by_node=by_node,
        gang=gang,
        gpus=gpus,
        telemetry=telemetry_of(settings, attempt.node, view) if gpus and is_local else None,
        image=image_of(cluster, kind_of(units)),
        mounts=tuple(view.mounts),
        folder_inside=inside,
        **share_of(attempt.node, by_node[0][1] if by_node else job.units),
        grace_seconds=job.grace_seconds,
        units=job.units,
    )


def ids_of(settings: Settings, job: Job) -> Ids:
    """As root a job runs as its user's own number, else as ourselves. Raises Refused for a number of others."""
    if not WE_ARE_ROOT:
        return {}
    return {
        "uid": settings.job_ids.uid_of(job.user_id),
        "gid": settings.job_ids.gid_of(job.workspace_id),
        "services": storage.service_ids(settings),
    }


def image_of(cluster: Cluster, kind: UnitKind) -> str | None:
    settings = cluster.settings
    if settings.executor != "kubernetes":
        return settings.docker_image or None
    with cluster.store.read() as session:
        return settings.kubernetes_image or read_default_image(session, kind) or None


def gang_plan(
    settings: Settings,
    attempt: Attempt,
    folders: launch.JobFolders,
    python: str,
    names: Sequence[str],
) -> tuple[Gang, launch.LaunchPlan]:
    """On several nodes of Kubernetes the ranks are several pods, and each is given the variables of these `names`."""
    by_node, job = units_by_node(attempt), attempt.job
    plan = launch.launch_plan(job.launcher, python, folders.runtime, job.units, program_of(job, python))
    if settings.executor != "kubernetes" or len(by_node) < 2:
        return Gang.NONE, plan
    workdir = folders.out if job.training.kind is TrainingKind.BUILT_IN else f"{folders.out}/work"
    if job.launcher is Launcher.HOROVOD and settings.horovod_over == "mpi":
        return Gang.MPI, launch.over_mpi(plan, python, folders.runtime, workdir, names)
    pods = launch.split([units for _, units in by_node])
    name = kube_names.name_of(job.id, attempt.number)
    address = f"{name}-0.{name}"
    return Gang.INDEXED, launch.over_pods(plan, job.launcher, python, folders.runtime, pods, address)


def load(cluster: Cluster, attempt_ids: Collection[int]) -> Loaded:
    """In as many statements for many as for one."""
    query = (
        select(Attempt)
        .where(Attempt.id.in_(attempt_ids))
        .options(
            joinedload(Attempt.job).joinedload(Job.training),
            joinedload(Attempt.job).joinedload(Job.dataset),
            joinedload(Attempt.node).selectinload(Node.units),
            selectinload(Attempt.allocations).joinedload(Allocation.unit).joinedload(Unit.node),
        )
    )
    with cluster.store.read() as session:
        attempts = {attempt.id: attempt for attempt in session.scalars(query)}
        environment = default_environment(session)
        return Loaded(attempts, Path(environment.path) if environment else Path("/nonexistent"))


def units_of(attempt: Attempt) -> list[Unit]:
    return [allocation.unit for allocation in attempt.allocations]


def dataset_of(settings: Settings, job: Job, view: View) -> str:
    if job.dataset is None:
        return ""
    return str(view.show(storage.dataset_folder(settings, job.dataset), "dataset"))


def variables_of(
    attempt: Attempt, units: list[Unit], folders: launch.JobFolders, programs: Path
) -> dict[str, str]:
    job = attempt.job
    identities = [unit.identity for unit in units]
    return launch.job_environment(
        job.id,
        attempt.number,
        job.units,
        identities,
        kind_of(units),
        folders,
        str(programs),
        job.variables,
    )


def show_checkpoints(folder: Path, resume: Resume, view: View) -> str:
    """The folder that we made is shown, not the one in it: the program could have put a link there."""
    former = view.show(folder.with_name(str(resume.attempt)) / "out", "former")
    return str(former / CHECKPOINTS)


def telemetry_of(settings: Settings, node: Node, view: View) -> Path | None:
    """What the node's agent measures of its GPUs. Its folder is shown, for each file there replaces the last."""
    folder = settings.state_dir / "telemetry"
    return view.show(folder, "telemetry") / f"{node.name}.json" if folder.is_dir() else None


def share_of(node: Node, units: int) -> Share:
    """Of the (first) node's processors and memory as large a part as of its units; empty where nothing is known."""
    there = sum(unit.state is not UnitState.GONE for unit in node.units)
    cpus, memory = node.facts.get("cpus"), node.facts.get("memory_bytes")
    if not there or not isinstance(cpus, int) or not isinstance(memory, int):
        return {}
    part = min(units / there, 1.0)
    return {"cpus": cpus * part, "memory_bytes": int(memory * part * FOR_JOBS)}


def nodes_of(attempt: Attempt) -> tuple[str, ...]:
    """Names, each once, the one with the launcher first."""
    names = [allocation.unit.node.name for allocation in attempt.allocations]
    return tuple(dict.fromkeys([attempt.node.name, *names]))


def units_by_node(attempt: Attempt) -> tuple[tuple[str, int], ...]:
    """In the order of `nodes_of`."""
    counts = Counter(allocation.unit.node.name for allocation in attempt.allocations)
    return tuple((name, counts[name]) for name in nodes_of(attempt) if counts[name])


def kind_of(units: list[Unit]) -> UnitKind:
    return units[0].kind if units else UnitKind.CPU_SLOT


def code_of(settings: Settings, job: Job) -> Path | None:
    """The version that the job was submitted with; None for a built-in model."""
    if job.training.kind is TrainingKind.BUILT_IN:
        return None
    return storage.code_folder(settings, job.workspace_id, job.training_id, job.code_version)


def program_of(job: Job, interpreter: str) -> tuple[str, ...]:
    if job.training.kind is TrainingKind.BUILT_IN:
        return launch.model_program(interpreter, job.training.model or "")
    return launch.own_program(interpreter, [str(word) for word in job.command])
