"""Reads the placement snapshot: queued jobs, capacity and blockers at one moment, the same for scheduler, queue page
and preview."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

from sqlalchemy.orm import Session

from cluster.cached_property import unlocked_cached_property
from cluster.domain.placement import scheduling_pass
from cluster.domain.placement.types import (
    JobToPlace,
    Placement,
    PlacementDecision,
)
from cluster.domain.queue.reasons import WaitingReason
from cluster.domain.queue.start_estimate import EstimateSource
from cluster.services.context import Cluster
from cluster.services.placement.capacity import (
    PlacementContext,
    count_free_units,
    read_placement_context,
)
from cluster.services.placement.past_durations import (
    DurationRange,
    JobKind,
    expected_duration,
    read_durations,
)
from cluster.services.placement.queue_heads import (
    QueuedJobRow,
    read_heads_by_shape,
    read_queue_heads,
    read_workspace_queue,
)
from cluster.services.placement.start_blockers import (
    StartBlockers,
    find_sweep_limited,
    read_backoffs,
    read_start_blockers,
)

MAX_HEADS = 2000
"""The number of jobs that one pass reads from the fronts of all lines; later ones have their turn in the next pass."""
MAX_UNITS_PER_PASS = 256
"""The number of units that one pass gives out, so that people who submit do not wait long for the lock."""
MAX_SHAPES = 500
JOBS_PER_SHAPE = 8


@dataclass(frozen=True)
class PlacementSnapshot(scheduling_pass.PlacementInput):
    """The input of placement, with the rows of the queue heads."""

    jobs: Mapping[int, QueuedJobRow] = field(kw_only=True)
    """The heads' rows, by job."""
    blockers: StartBlockers = field(kw_only=True)
    context: PlacementContext = field(kw_only=True, compare=False)

    @property
    def free(self) -> int:
        return count_free_units(self.nodes)

    @unlocked_cached_property
    def decisions(self) -> list[PlacementDecision]:
        """The answer of `decide` for the placement input as it is; computed once."""
        return self.decide()


def read_placement_snapshot(
    cluster: Cluster, session: Session, line: int | None = None, first: int = 0, at_least: int = 1
) -> PlacementSnapshot:
    """Reads the fronts of all lines, at least `at_least` jobs of each, and the first `first` of workspace `line`.

    Of each line it reads as many jobs as could start at once within the quota, and one more, whose waiting reason is
    written. If units stay free although lines are longer than what was read, it also reads the first jobs of every
    shape in them: behind a front that waits for its dataset or for more units there may be jobs that can start now.
    """
    ground = read_placement_context(cluster, session)
    depths = choose_depths(ground, at_least)
    found = read_heads_to_depth(session, depths) + (
        read_workspace_queue(session, line, first) if line is not None else []
    )
    return complete_snapshot(cluster, session, ground, depths, found)


def read_startable_snapshot(cluster: Cluster, session: Session) -> PlacementSnapshot | None:
    """Reads the fronts of those lines alone that decide which jobs can start now. Its placements are those of the whole
    snapshot. Returns None if nothing waits in these lines, or no unit is free. A workspace whose quota is used up
    starts nothing. The reservation of its foremost job keeps units from others, but only from the moment at which one
    of the workspace's own runs ends: without such a moment its line decides nothing.
    """
    ground = read_placement_context(cluster, session)
    depths = choose_depths(ground, at_least=1)
    found = read_startable_heads(session, ground, depths)
    if not found:
        return None
    found += read_heads_of(session, {place: depths[place] for place in workspaces_with_promise(ground)})
    return complete_snapshot(cluster, session, ground, depths, found)


def has_startable_heads(cluster: Cluster, session: Session) -> bool:
    """Whether `read_startable_snapshot` has anything to decide on."""
    ground = read_placement_context(cluster, session)
    return bool(read_startable_heads(session, ground, dict.fromkeys(ground.quotas, 1)))


def read_startable_heads(
    session: Session, ground: PlacementContext, depths: Mapping[int, int]
) -> list[QueuedJobRow]:
    if not count_free_units(ground.nodes):
        return []
    return read_heads_of(session, {place: depths[place] for place in workspaces_with_room(ground)})


def workspaces_with_room(ground: PlacementContext) -> list[int]:
    return [place for place, quota in ground.quotas.items() if quota.used < quota.limit]


def workspaces_with_promise(ground: PlacementContext) -> list[int]:
    """Returns the workspaces whose quota is used up and that have a run with a known expected end."""
    ending = {run.workspace_id for run in ground.running if run.ends_at is not None}
    return [place for place, quota in ground.quotas.items() if quota.used >= quota.limit and place in ending]


def complete_snapshot(
    cluster: Cluster,
    session: Session,
    ground: PlacementContext,
    depths: Mapping[int, int],
    found: Iterable[QueuedJobRow],
) -> PlacementSnapshot:
    # The next snapshot contains a workspace that was created a moment ago.
    jobs = {job.id: job for job in found if job.workspace_id in ground.workspaces}
    board = build_snapshot(cluster, session, ground, jobs.values())
    hidden = workspaces_with_more(board, depths)
    largest = count_unassigned_units(board) if hidden else 0
    if not largest:
        return board
    more = read_heads_by_shape(session, hidden, min(largest, JOBS_PER_SHAPE), largest, MAX_SHAPES)
    others = [job for job in more if job.id not in jobs]
    return build_snapshot(cluster, session, ground, [*jobs.values(), *others]) if others else board


def read_line_snapshot(
    cluster: Cluster, session: Session, board: PlacementSnapshot, line: int, first: int
) -> PlacementSnapshot:
    """Returns a snapshot with the capacity of `board` whose heads are the first jobs of workspace `line`."""
    more = {job.id: job for job in read_workspace_queue(session, line, first)}
    return build_snapshot(cluster, session, board.context, {**board.jobs, **more}.values())


def choose_depths(ground: PlacementContext, at_least: int) -> dict[int, int]:
    """The number of jobs that are read of each workspace's line."""
    free = min(
        count_free_units(ground.nodes), MAX_UNITS_PER_PASS, MAX_HEADS // max(1, len(ground.workspaces))
    )
    # Two jobs are read of a line whose quota is used up while units are free: if the front waits for something else,
    # the reservation belongs to the job behind it.
    return {
        place: max(at_least, min(free, max(1, quota.limit - quota.used)) + 1)
        for place, quota in ground.quotas.items()
    }


def read_heads_to_depth(session: Session, depths: Mapping[int, int]) -> list[QueuedJobRow]:
    """Reads the heads by two searches at most: all lines as deep as the shortest, the others as deep as the longest."""
    least, most = min(depths.values(), default=0), max(depths.values(), default=0)
    longer = [place for place, depth in depths.items() if depth > least]
    if len(longer) == len(depths) or not longer:
        return read_queue_heads(session, most) if depths else []
    return [*read_queue_heads(session, least), *read_queue_heads(session, most, longer)]


def read_heads_of(session: Session, depths: Mapping[int, int]) -> list[QueuedJobRow]:
    """Reads the heads of these workspaces, with one search for each depth that occurs."""
    by_depth: dict[int, list[int]] = {}
    for place, depth in depths.items():
        by_depth.setdefault(depth, []).append(place)
    return [job for depth, places in by_depth.items() for job in read_queue_heads(session, depth, places)]


def build_snapshot(
    cluster: Cluster,
    session: Session,
    ground: PlacementContext,
    jobs: Collection[QueuedJobRow],
    durations: Mapping[JobKind, DurationRange | None] | None = None,
    sweep_limits: Mapping[int, int] | None = None,
) -> PlacementSnapshot:
    """Builds the snapshot. `durations` and `sweep_limits` are of jobs and sweeps that do not exist yet."""
    places = {job.workspace_id for job in jobs}
    datasets = {job.dataset_id for job in jobs if job.dataset_id is not None}
    chosen = {job.environment_id for job in jobs if job.environment_id is not None}
    obstacles = read_start_blockers(
        cluster, session, [ground.workspaces[place] for place in places], datasets, chosen
    )
    one_of_each = {(job.training_id, job.units): job.id for job in jobs}
    known = {**ground.durations, **(durations or {})}
    unread = [job_id for kind, job_id in one_of_each.items() if kind not in known]
    spans = {**known, **read_durations(session, unread)}
    lines = sorted(jobs, key=lambda job: (job.workspace_id, job.position, job.id))
    paused = read_backoffs(session, lines, ground.now)
    limited = find_sweep_limited(session, (job for job in lines if job.id not in paused), sweep_limits)
    heads = [build_job_to_place(job, obstacles, paused, limited, spans) for job in lines]
    return PlacementSnapshot(
        heads,
        ground.nodes,
        ground.quotas,
        ground.running,
        ground.now,
        ground.can_span_nodes,
        jobs={job.id: job for job in jobs},
        blockers=obstacles,
        context=ground,
    )


def build_job_to_place(
    job: QueuedJobRow,
    obstacles: StartBlockers,
    paused: Mapping[int, WaitingReason],
    limited: Mapping[int, WaitingReason],
    spans: Mapping[JobKind, DurationRange | None],
) -> JobToPlace:
    """Adds the blocker of the job. A retry backoff comes before any other, because only it ends at a known time."""
    expected = expected_duration(spans.get((job.training_id, job.units)), job.time_limit_seconds)
    limit = job.time_limit_seconds
    differ = expected.source is EstimateSource.HISTORY and expected.least != expected.most
    return JobToPlace(
        job.id,
        job.workspace_id,
        job.units,
        job.priority,
        job.position,
        paused.get(job.id)
        or obstacles.reason_for(job.workspace_id, job.dataset_id, job.environment_id)
        or limited.get(job.id),
        expected.seconds,
        limit + job.grace_seconds if limit else None,
        job.submitted_at,
        expected.source,
        expected.least if differ else None,
        expected.most if differ else None,
        job.grace_seconds,
    )


def workspaces_with_more(board: PlacementSnapshot, depths: Mapping[int, int]) -> list[int]:
    """Returns the workspaces that have units left in their quota, and more jobs than the snapshot has read."""
    if not board.free:
        return []
    shown = Counter(job.workspace_id for job in board.jobs.values())
    return [
        workspace_id
        for workspace_id, count in shown.items()
        if count >= depths[workspace_id]
        and board.quotas[workspace_id].used < board.quotas[workspace_id].limit
    ]


def count_unassigned_units(board: PlacementSnapshot) -> int:
    """The units that stay free on ready nodes after all placements of this snapshot."""
    given = (len(decision.unit_ids) for decision in board.decisions if isinstance(decision, Placement))
    return board.free - sum(given)
