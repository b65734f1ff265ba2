"""Builds the start plan of a placed attempt from its rows."""

from pathlib import Path
from typing import TypedDict

from cluster.domain.errors import Refused
from cluster.domain.jobs.gpu_support import check_gpu_support
from cluster.domain.jobs.memory import NodeMemory, memory_limit_of
from cluster.domain.jobs.resume_points import ResumePoint
from cluster.domain.nodes.gpu_minors import gpu_minors_of
from cluster.domain.states import UnitState
from cluster.services.context import Cluster
from cluster.settings import Settings
from cluster.store.jobs import Attempt, Job
from cluster.store.nodes import Node
from worker.executors.contract import ContainerPlan, NotStarted, PlacementPlan, SandboxSpec, StartPlan
from worker.executors.path_mapping import HostPaths, PathMapping, path_mapping_of
from worker.kubernetes.manifests.run_spec import GangKind
from worker.scheduling import program_plan, start_rows
from worker.scheduling.start_rows import StartRows


class NodeShare(TypedDict, total=False):
    cpus: float
    memory_bytes: int


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
    loaded = loaded or start_rows.read_start_rows(cluster, [attempt_id])
    attempt = loaded.attempts[attempt_id]
    check_gpus_used(loaded, attempt)
    view = path_mapping_of(settings.executor.capabilities)
    paths = program_plan.map_program_paths(settings, attempt, view, runtime, loaded.environment, resume)
    program, gang = program_plan.plan_program(settings, attempt, paths)
    placement = plan_placement(settings, attempt, gang, view)
    image = loaded.images.get(start_rows.allocated_kind(attempt)) or None
    return StartPlan(
        attempt.job_id,
        attempt.number,
        paths.attempt,
        program,
        placement,
        ContainerPlan(image, tuple(view.mounts), paths.attempt_inside),
        choose_sandbox(settings, view),
    )


def check_gpus_used(loaded: StartRows, attempt: Attempt) -> None:
    """Raises NotStarted."""
    job, kind = attempt.job, start_rows.allocated_kind(attempt)
    try:
        check_gpu_support(loaded.support, kind, job.training.kind, [str(word) for word in job.command])
    except Refused as refused:
        raise NotStarted("start.no_gpu_environment", **refused.data) from refused


def plan_placement(settings: Settings, attempt: Attempt, gang: GangKind, view: PathMapping) -> PlacementPlan:
    """The device files, measurements and processes of GPUs are known here only where jobs run here."""
    job, node, by_node = attempt.job, attempt.node, start_rows.units_by_node(attempt)
    gpus, is_local = start_rows.allocated_gpus(attempt), settings.executor.capabilities.is_local
    on_first = by_node[0][1] if by_node else job.units
    return PlacementPlan(
        units=job.units,
        nodes=start_rows.node_names(attempt),
        units_by_node=by_node,
        gang=gang,
        gpus=gpus,
        gpu_minors=gpu_minors_of(node.facts, gpus) if is_local else {},
        telemetry=map_telemetry(settings, node, view) if gpus and is_local else None,
        **node_share(node, on_first, job, settings.memory_overcommit),
        most_processes=settings.job_processes * job.units if is_local else None,
    )


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


def choose_sandbox(settings: Settings, view: PathMapping) -> SandboxSpec | None:
    """Of the installation's own folders a program sees what was shown to it, once everything was."""
    needs_sandbox = program_plan.WE_ARE_ROOT and settings.executor.capabilities.sandboxes_files
    if not needs_sandbox or not isinstance(view, HostPaths):
        return None
    hidden = (settings.state_dir, settings.backups)
    return SandboxSpec(hidden, tuple(view.visible), settings.job_ids.uid_range)
