"""Builds the start plan of a placed attempt from its rows."""

import os
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypedDict

from sqlalchemy import select
from sqlalchemy.orm import joinedload, selectinload

from cluster.domain.errors import Refused
from cluster.domain.jobs import launch
from cluster.domain.jobs.gpu_support import EnvironmentOrImage, GpuSupport, check_gpu_support
from cluster.domain.jobs.memory import NodeMemory, memory_limit_of
from cluster.domain.jobs.resume_points import ResumePoint
from cluster.domain.jobs.unix_ids import LARGEST_ROW_ID
from cluster.domain.nodes.gpu_minors import gpu_minors_of
from cluster.domain.states import Launcher, TrainingKind, UnitKind, UnitState
from cluster.files.checkpoints import FOLDER as CHECKPOINTS
from cluster.services.context import Cluster
from cluster.services.images.default_images import read_default_image
from cluster.services.images.environments import load_default_environment
from cluster.services.images.gpu_support import read_job_environment
from cluster.services.storage import folders as storage
from cluster.settings import Settings
from cluster.store.jobs import Attempt, Job
from cluster.store.nodes import Allocation, Node, Unit
from worker.environments.manifest import read_environment_variables
from worker.executors.contract import NotStarted, SandboxSpec, StartPlan
from worker.executors.path_mapping import HostPaths, PathMapping, path_mapping_of
from worker.kubernetes import object_names as kube_names
from worker.kubernetes.manifests.run_spec import GangKind

WE_ARE_ROOT = os.geteuid() == 0


class JobIdentity(TypedDict, total=False):
    uid: int
    gid: int
    services: tuple[int, int] | None


class NodeShare(TypedDict, total=False):
    cpus: float
    memory_bytes: int


@dataclass(frozen=True)
class StartRows:
    """Attempts by id with all that their plans are made of, and the folder of the default environment."""

    attempts: Mapping[int, Attempt]
    environment: Path
    ground: EnvironmentOrImage = EnvironmentOrImage("", GpuSupport.UNKNOWN)
    """What programs run in: whether it computes on GPUs may have changed since the attempt was placed."""


def build_start_plan(
    cluster: Cluster,
    runtime: Path,
    attempt_id: int,
    resume: ResumePoint | None = None,
    loaded: StartRows | None = None,
) -> StartPlan:
    """Changes nothing.

    Raises Refused where a row would have the job run as somebody who is none of our users, and NotStarted where GPUs
    would be held and the program would compute on CPUs.

    `resume` is shown to the program where it lies: the new attempt runs as the same user. `loaded` is what
    `read_start_rows` gave for several that begin together.
    """
    settings = cluster.settings
    loaded = loaded or read_start_rows(cluster, [attempt_id])
    attempt, environment = loaded.attempts[attempt_id], loaded.environment
    job, units = attempt.job, allocated_units(attempt)
    gpus = tuple(unit.identity for unit in units if unit.kind is UnitKind.GPU)
    check_gpus_used(loaded.ground, job, allocated_kind(units))
    folder = storage.attempt_folder(settings, job.workspace_id, job.id, attempt.number)
    view = path_mapping_of(settings.executor)
    inside, shown_runtime = view.map_attempt(folder), view.map_runtime(runtime)
    programs = view.map_environment(environment) / "bin"
    code = code_version_folder(settings, job)
    folders = launch.JobFolders(
        runtime=str(shown_runtime),
        out=str(inside / "out"),
        code=str(inside / "out" / "work") if code else str(shown_runtime),
        dataset=dataset_path(settings, job, view),
    )
    # What the master's agents measure is not seen on other nodes.
    is_local = settings.executor != "kubernetes"
    variables = job_variables(attempt, units, folders, programs) | read_environment_variables(environment)
    if resume is not None:
        variables["GROUNDCREW_RESUME"] = map_checkpoints(folder, resume, view)
    if gpus and not is_local:
        # Which ones of the node's they are is the kubelet's choice: all that the pod sees are its own.
        del variables["CUDA_VISIBLE_DEVICES"]
    gang, plan = choose_gang_launch(settings, attempt, folders, str(programs / "python"), sorted(variables))
    by_node = units_by_node(attempt)
    return StartPlan(
        job=job.id,
        attempt=attempt.number,
        folder=folder,
        argv=plan.command,
        environment=variables,
        ranks=plan.ranks,
        code=view.map_path(code, "code") if code else None,
        **job_identity(settings, job),
        time_limit_seconds=job.time_limit_seconds,
        nodes=node_names(attempt),
        units_by_node=by_node,
        gang=gang,
        gpus=gpus,
        gpu_minors=gpu_minors_of(attempt.node.facts, gpus) if is_local else {},
        telemetry=map_telemetry(settings, attempt.node, view) if gpus and is_local else None,
        image=choose_image(cluster, allocated_kind(units)),
        mounts=tuple(view.mounts),
        folder_inside=inside,
        **node_share(attempt.node, by_node[0][1] if by_node else job.units, job, settings.memory_overcommit),
        most_processes=settings.job_processes * job.units if is_local else None,
        grace_seconds=job.grace_seconds,
        units=job.units,
        sandbox=choose_sandbox(settings, view),
    )


def check_gpus_used(ground: EnvironmentOrImage, job: Job, kind: UnitKind) -> None:
    """Raises NotStarted."""
    try:
        check_gpu_support(ground, kind, job.training.kind, [str(word) for word in job.command])
    except Refused as refused:
        raise NotStarted("start.no_gpu_environment", **refused.data) from refused


def job_identity(settings: Settings, job: Job) -> JobIdentity:
    """As root a job runs as its user's own number, else as ourselves. Raises Refused for a number of others."""
    if not WE_ARE_ROOT:
        return {}
    return {
        "uid": settings.job_ids.uid_of(job.user_id),
        "gid": settings.job_ids.gid_of(job.workspace_id),
        "services": storage.service_ids(settings),
    }


def choose_sandbox(settings: Settings, view: PathMapping) -> SandboxSpec | None:
    """Of the installation's own folders a program sees what was shown to it, once everything was."""
    if not WE_ARE_ROOT or not isinstance(view, HostPaths) or settings.executor != "process":
        return None
    return SandboxSpec((settings.state_dir, settings.backups), tuple(view.visible), job_uid_range(settings))


def job_uid_range(settings: Settings) -> tuple[int, int]:
    """The first and the last number that a job may run as; the very first of the range is nginx's with `make up`."""
    return settings.uid_base + 1, settings.uid_base + LARGEST_ROW_ID


def choose_image(cluster: Cluster, kind: UnitKind) -> str | None:
    settings = cluster.settings
    if settings.executor != "kubernetes":
        return settings.docker_image or None
    with cluster.store.read() as session:
        return settings.kubernetes_image or read_default_image(session, kind) or None


def choose_gang_launch(
    settings: Settings,
    attempt: Attempt,
    folders: launch.JobFolders,
    python: str,
    names: Sequence[str],
) -> tuple[GangKind, launch.LaunchPlan]:
    """On several nodes of Kubernetes the ranks are several pods, and each is given the variables of these `names`."""
    by_node, job = units_by_node(attempt), attempt.job
    plan = launch.local_launch_plan(
        job.launcher, python, folders.runtime, job.units, job_program(job, python)
    )
    if settings.executor != "kubernetes" or len(by_node) < 2:
        return GangKind.NONE, plan
    workdir = folders.out if job.training.kind is TrainingKind.BUILT_IN else f"{folders.out}/work"
    if job.launcher is Launcher.HOROVOD and settings.horovod_over == "mpi":
        return GangKind.MPI, launch.mpi_launch_plan(plan, python, folders.runtime, workdir, names)
    pods = launch.units_per_pod([units for _, units in by_node])
    name = kube_names.run_name(job.id, attempt.number)
    address = f"{name}-0.{name}"
    return GangKind.INDEXED, launch.pod_launch_plan(
        plan, job.launcher, python, folders.runtime, pods, address
    )


def read_start_rows(cluster: Cluster, attempt_ids: Collection[int]) -> StartRows:
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
        environment = load_default_environment(session)
        path = Path(environment.path) if environment else Path("/nonexistent")
        return StartRows(attempts, path, read_job_environment(cluster, session, environment))


def allocated_units(attempt: Attempt) -> list[Unit]:
    return [allocation.unit for allocation in attempt.allocations]


def dataset_path(settings: Settings, job: Job, view: PathMapping) -> str:
    if job.dataset is None:
        return ""
    return str(view.map_path(storage.dataset_folder(settings, job.dataset), "dataset"))


def job_variables(
    attempt: Attempt, units: list[Unit], folders: launch.JobFolders, programs: Path
) -> dict[str, str]:
    job = attempt.job
    identities = [unit.identity for unit in units]
    return launch.job_environment(
        job.id,
        attempt.number,
        job.units,
        identities,
        allocated_kind(units),
        folders,
        str(programs),
        job.variables,
    )


def map_checkpoints(folder: Path, resume: ResumePoint, view: PathMapping) -> str:
    """The folder that we made is shown, not the one in it: the program could have put a link there."""
    former = view.map_path(folder.with_name(str(resume.attempt)) / "out", "former")
    return str(former / CHECKPOINTS)


def map_telemetry(settings: Settings, node: Node, view: PathMapping) -> Path | None:
    """What the node's agent measures of its GPUs. Its folder is shown, for each file there replaces the last."""
    folder = settings.state_dir / "telemetry"
    return view.map_path(folder, "telemetry") / f"{node.name}.json" if folder.is_dir() else None


def node_share(node: Node, units: int, job: Job, overcommit: int) -> NodeShare:
    """Of the (first) node's processors as large a part as of its units, of its memory that or what the job asks for.

    Empty where nothing is known.
    """
    there = sum(unit.state is not UnitState.GONE for unit in node.units)
    cpus, memory = node.facts.get("cpus"), node.facts.get("memory_bytes")
    if not there or not isinstance(cpus, int) or not isinstance(memory, int):
        return {}
    asked = job.memory_bytes * units // job.units if job.memory_bytes else None
    limit = memory_limit_of(NodeMemory(there, memory), units, asked, overcommit)
    return {"cpus": cpus * min(units / there, 1.0), "memory_bytes": limit}


def node_names(attempt: Attempt) -> tuple[str, ...]:
    """Names, each once, the one with the launcher first."""
    names = [allocation.unit.node.name for allocation in attempt.allocations]
    return tuple(dict.fromkeys([attempt.node.name, *names]))


def units_by_node(attempt: Attempt) -> tuple[tuple[str, int], ...]:
    """In the order of `node_names`."""
    counts = Counter(allocation.unit.node.name for allocation in attempt.allocations)
    return tuple((name, counts[name]) for name in node_names(attempt) if counts[name])


def allocated_kind(units: list[Unit]) -> UnitKind:
    return units[0].kind if units else UnitKind.CPU_SLOT


def code_version_folder(settings: Settings, job: Job) -> Path | None:
    """The version that the job was submitted with; None for a built-in model."""
    if job.training.kind is TrainingKind.BUILT_IN:
        return None
    return storage.code_folder(settings, job.workspace_id, job.training_id, job.code_version)


def job_program(job: Job, interpreter: str) -> tuple[str, ...]:
    if job.training.kind is TrainingKind.BUILT_IN:
        return launch.built_in_program(interpreter, job.training.model or "")
    return launch.custom_program(interpreter, [str(word) for word in job.command])
