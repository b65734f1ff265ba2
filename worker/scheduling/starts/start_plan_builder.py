"""Builds the start plan of a placed attempt from its rows."""

from dataclasses import replace
from pathlib import Path

from cluster.domain.errors import Refused
from cluster.domain.jobs.gpu_support import check_gpu_support
from cluster.domain.jobs.memory import NodeMemory, memory_limit_of
from cluster.domain.jobs.resume_points import ResumePoint
from cluster.domain.nodes.gpu_minors import gpu_minors_of
from cluster.domain.states import JobKind, UnitState
from cluster.services.context import Cluster
from cluster.services.storage import folders
from cluster.settings import Settings
from cluster.store.jobs import Attempt, Job
from worker.executors.contract import ContainerPlan, NotStarted, PlacementPlan, SandboxSpec, StartPlan
from worker.executors.path_mapping import HostPaths, PathMapping, path_mapping_of
from worker.scheduling.starts import program_plan, start_rows


def build_start_plan(
    cluster: Cluster,
    runtime: Path,
    attempt_id: int,
    resume: ResumePoint | None = None,
    loaded: start_rows.StartRows | None = None,
) -> StartPlan:
    """Builds the start plan and changes nothing. Raises Refused if a row would make the job run as a user outside our
    range, and NotStarted if the job has GPUs and its program would compute on CPUs. The program reads `resume` at its
    own place, because the new attempt runs as the same user. `loaded` is the result of `read_start_rows` for several
    attempts that begin together.
    """
    settings = cluster.settings
    loaded = loaded or start_rows.read_start_rows(cluster, [attempt_id])
    attempt = loaded.attempts[attempt_id]
    check_gpus_used(loaded, attempt)
    view = path_mapping_of(settings.executor.capabilities)
    check_environment_files(settings, loaded, attempt_id)
    paths = program_plan.map_program_paths(settings, attempt, view, runtime, loaded, resume)
    program, gang = program_plan.plan_program(settings, attempt, paths)
    placement = plan_placement(settings, attempt, gang, view)
    image = loaded.image_of(attempt_id)
    return StartPlan(
        attempt.job_id,
        attempt.number,
        paths.attempt,
        program,
        placement,
        ContainerPlan(image, tuple(view.mounts), paths.attempt_inside),
        choose_sandbox(settings, view),
    )


def check_gpus_used(loaded: start_rows.StartRows, attempt: Attempt) -> None:
    """Raises NotStarted."""
    job, kind = attempt.job, start_rows.allocated_kind(attempt)
    try:
        support = loaded.environment_of(attempt.id).support
        check_gpu_support(support, kind, job.training.kind, program_words(job))
    except Refused as refused:
        raise NotStarted("start.no_gpu_environment", **refused.data) from refused


def check_environment_files(settings: Settings, loaded: start_rows.StartRows, attempt_id: int) -> None:
    """Raises NotStarted if a chosen environment was built on this machine and its files are gone: the launcher would
    only say that there is no such program. The default environment is built again by itself.
    """
    environment = loaded.environment_of(attempt_id)
    is_ours = environment.is_chosen and not environment.image and settings.executor.capabilities.is_local
    if is_ours and not settings.executor.capabilities.is_simulated and not environment.path.is_dir():
        raise NotStarted("start.environment_gone", name=environment.name)


def program_words(job: Job) -> list[str]:
    """The words of the job's command. For a notebook it is the environment's Python, which runs the cells."""
    return ["python"] if job.kind is JobKind.NOTEBOOK else [str(word) for word in job.command]


def plan_placement(settings: Settings, attempt: Attempt, gang: str, view: PathMapping) -> PlacementPlan:
    placement = PlacementPlan(
        units=attempt.job.units,
        nodes=start_rows.node_names(attempt),
        units_by_node=start_rows.units_by_node(attempt),
        gang=gang,
        gpus=start_rows.allocated_gpus(attempt),
    )
    if settings.executor.capabilities.is_local:
        placement = with_local_devices(settings, attempt, placement, view)
    return with_node_share(placement, attempt, settings.memory_overcommit)


def with_local_devices(
    settings: Settings, attempt: Attempt, placement: PlacementPlan, view: PathMapping
) -> PlacementPlan:
    """Adds the device files, measurements and processes of this machine, because the job runs here."""
    gpus = placement.gpus
    return replace(
        placement,
        gpu_minors=gpu_minors_of(attempt.node.facts, gpus),
        telemetry=map_telemetry(settings, attempt, view) if gpus else None,
        most_processes=settings.job_processes * placement.units,
    )


def map_telemetry(settings: Settings, attempt: Attempt, view: PathMapping) -> Path | None:
    """The measurements of its GPUs by the node's agent. The program sees the folder and not a file, because each new
    file replaces the last.
    """
    folder = settings.state_dir / "telemetry"
    return view.map_path(folder, "telemetry") / f"{attempt.node.name}.json" if folder.is_dir() else None


def with_node_share(placement: PlacementPlan, attempt: Attempt, overcommit: int) -> PlacementPlan:
    """Gives the job as large a part of the (first) node's processors as of its units, and of its memory the same part
    or what the job asks for. Changes nothing if the node's sizes are unknown.
    """
    job, node = attempt.job, attempt.node
    units = placement.units_by_node[0][1] if placement.units_by_node else job.units
    there = sum(unit.state is not UnitState.GONE for unit in node.units)
    cpus, memory = node.facts.get("cpus"), node.facts.get("memory_bytes")
    if not there or not isinstance(cpus, int) or not isinstance(memory, int):
        return placement
    asked = job.memory_bytes * units // job.units if job.memory_bytes else None
    limit = memory_limit_of(NodeMemory(there, memory), units, asked, overcommit)
    return replace(placement, cpus=cpus * min(units / there, 1.0), memory_bytes=limit)


def choose_sandbox(settings: Settings, view: PathMapping) -> SandboxSpec | None:
    """The sandbox hides the installation's own folders. It is chosen last, because a program sees only those that
    were shown to it before.
    """
    needs_sandbox = folders.IS_ROOT and settings.executor.capabilities.sandboxes_files
    if not needs_sandbox or not isinstance(view, HostPaths):
        return None
    hidden = (settings.state_dir, settings.backups)
    return SandboxSpec(hidden, tuple(view.visible), settings.job_ids.uid_range, tuple(view.written))
