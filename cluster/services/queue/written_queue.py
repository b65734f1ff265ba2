"""Writes what a scheduling pass says of the jobs that wait, so that pages, REST and command only read it.

There is one row for each job that has a reason of its own or whose start is forecast, and one overview for all others.
"""

from collections import Counter, defaultdict
from collections.abc import Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from sqlalchemy import delete, insert, select
from sqlalchemy.orm import Session

from cluster.domain.placement.deep_queue_estimate import QueuedShapeTotal, measure_line
from cluster.domain.placement.start_forecast import MAX_FORECAST_JOBS, StartForecast, forecast_in_steps
from cluster.domain.placement.types import NotPlaced, Placement, PlacementDecision
from cluster.domain.queue.explanations import WaitingExplanation
from cluster.domain.queue.line_work import LineWork
from cluster.domain.queue.overview import (
    MAX_IN_ORDER,
    FreeBlock,
    QueueOverview,
    overview_to_data,
    parse_overview,
)
from cluster.domain.queue.reasons import AheadInQueue, WaitingReason, to_waiting_data
from cluster.domain.queue.start_estimate import UNKNOWN_START, StartEstimate
from cluster.services.context import Cluster
from cluster.services.leases import HeldLease, check_lease
from cluster.services.placement.snapshot import PlacementSnapshot
from cluster.services.queue.shared_reasons import (
    read_backed_off_jobs,
    read_full_sweeps,
    read_unready_datasets,
)
from cluster.services.queue.totals import read_queue_totals
from cluster.store.facts import FACT, InstallationFact
from cluster.store.queue import QueueExplanation

QUEUE_OVERVIEW_FACT = "queue_overview"
DECISIONS_PER_STEP = 20
MAX_WRITTEN = 1000
"""The number of jobs that have a row: those whose turns come first."""


@dataclass(frozen=True)
class JobExplanation:
    """The explanation that is written for one job. `fence` names the attempt before which it holds."""

    fence: int
    explanation: WaitingExplanation


@dataclass(frozen=True)
class WrittenQueue:
    overview: QueueOverview = field(default_factory=QueueOverview)
    jobs: Mapping[int, JobExplanation] = field(default_factory=dict)


@dataclass(frozen=True)
class LineReport:
    """The facts about one workspace's line that the pass itself does not find out."""

    starts: Mapping[int, StartForecast]
    """Job id → the forecast of its start."""
    fences: Mapping[int, int]
    """Job id → fence, for the jobs that were examined."""
    waiting: Sequence[NotPlaced] = ()
    """The decisions of placement in the order of the line, with what would let each job start now."""
    front: NotPlaced | None = None
    """The first job of the line without a reason of its own."""


def report_line(board: PlacementSnapshot, line: int) -> Generator[None, None, LineReport]:
    """Examines the line. The caller can pause it, because a long line takes a second."""
    report = yield from decide_line(board, line)
    starts = yield from forecast_in_steps(board, line)
    return replace(report, starts=starts)


def decide_line(board: PlacementSnapshot, line: int) -> Generator[None, None, LineReport]:
    """Decides on the jobs of the line without forecasting starts."""
    blocked = {head.job_id for head in board.jobs_to_place if head.blocked_by}
    mine: list[PlacementDecision] = []
    for number, decision in enumerate(board.decide_line(line)):
        if board.jobs[decision.job_id].workspace_id == line:
            mine.append(decision)
        if number % DECISIONS_PER_STEP == 0:
            yield
    fences = {job_id: job.fence for job_id, job in board.jobs.items() if job.workspace_id == line}
    first = next((one for one in mine if one.job_id not in blocked), None)
    return LineReport(
        {},
        fences,
        [one for one in mine if isinstance(one, NotPlaced)],
        first if isinstance(first, NotPlaced) else None,
    )


def load_queue_overview(session: Session) -> QueueOverview:
    """An empty one before the scheduler's first pass."""
    value = session.scalar(FACT, {"name": QUEUE_OVERVIEW_FACT})
    return parse_overview(value) if value else QueueOverview()


def read_queue_overview(cluster: Cluster) -> QueueOverview:
    with cluster.store.read() as session:
        return load_queue_overview(session)


def read_written_queue(cluster: Cluster) -> WrittenQueue:
    rows = select(
        QueueExplanation.job_id, QueueExplanation.fence, QueueExplanation.code, QueueExplanation.data
    )
    with cluster.store.read() as session:
        jobs = {
            job_id: JobExplanation(fence, WaitingExplanation(code, data))
            for job_id, fence, code, data in session.execute(rows)
        }
        return WrittenQueue(load_queue_overview(session), jobs)


def describe_queue(
    session: Session,
    snapshot: PlacementSnapshot,
    reports: Mapping[int, LineReport],
    new_jobs: Mapping[int, QueuedShapeTotal] | None = None,
) -> WrittenQueue:
    """Describes the queue as it is to be written after a pass that has decided on `snapshot`.

    `reports` and `new_jobs` are by workspace id; the new jobs are only previewed.
    """
    waiting = [decision for decision in snapshot.decisions if isinstance(decision, NotPlaced)]
    overview = describe_overview(session, snapshot, waiting, reports, new_jobs or {})
    starts = {job_id: start for report in reports.values() for job_id, start in report.starts.items()}
    fences = {job_id: fence for report in reports.values() for job_id, fence in report.fences.items()}
    fences |= {job_id: job.fence for job_id, job in snapshot.jobs.items()}
    jobs: dict[int, JobExplanation] = {}
    for decision in merge_decisions(waiting, reports):
        told = explain_decision(decision, starts.get(decision.job_id))
        if told is not None and not is_said_by_overview(overview, snapshot, decision):
            jobs[decision.job_id] = JobExplanation(fences[decision.job_id], told)
            if len(jobs) == MAX_WRITTEN:
                break
    return WrittenQueue(overview, jobs)


def merge_decisions(waiting: Sequence[NotPlaced], reports: Mapping[int, LineReport]) -> Iterable[NotPlaced]:
    """The pass's own decisions, because they are the newest; the reports add jobs that it has not examined, and what
    would help those behind others. These come last.
    """
    of_lines = {one.job_id: one for report in reports.values() for one in report.waiting}
    merged = dict(of_lines)
    for one in waiting:
        line_says = of_lines.get(one.job_id)
        is_same = line_says is not None and is_behind(line_says) and is_behind(one)
        merged[one.job_id] = line_says if line_says is not None and is_same else one
    return sorted(merged.values(), key=is_behind)


def is_behind(decision: NotPlaced) -> bool:
    return isinstance(decision.reason, AheadInQueue)


def describe_overview(
    session: Session,
    snapshot: PlacementSnapshot,
    waiting: Sequence[NotPlaced],
    reports: Mapping[int, LineReport],
    new_jobs: Mapping[int, QueuedShapeTotal],
) -> QueueOverview:
    blocked = {head.job_id for head in snapshot.jobs_to_place if head.blocked_by}
    workspace_of = {job_id: job.workspace_id for job_id, job in snapshot.jobs.items()}
    reasons_of_heads: dict[str, list[int]] = defaultdict(list)
    fronts: dict[int, int] = {}
    for decision in waiting:
        if decision.job_id not in blocked:
            fronts.setdefault(workspace_of[decision.job_id], decision.job_id)
            if not isinstance(decision.reason, AheadInQueue):
                reasons_of_heads[decision.reason.code].append(decision.job_id)
    for workspace_id, report in reports.items():
        if report.front and workspace_id not in fronts:
            fronts[workspace_id] = report.front.job_id
            reasons_of_heads[report.front.reason.code].append(report.front.job_id)
    for decision in waiting:
        fronts.setdefault(workspace_of[decision.job_id], decision.job_id)
    blockers = snapshot.blockers
    everybody = blockers.environment or blockers.disk
    return QueueOverview(
        [decision.job_id for decision in waiting[:MAX_IN_ORDER]],
        fronts,
        dict(reasons_of_heads),
        explain_each(blockers.workspaces),
        explain_each(read_unready_datasets(session)),
        WaitingExplanation.of(everybody) if everybody else None,
        explain_each(read_full_sweeps(session)),
        read_backed_off_jobs(session, snapshot.now),
        measure_lines(session, snapshot, set(fronts), new_jobs, MAX_FORECAST_JOBS),
        find_largest_free_block(snapshot),
    )


def find_largest_free_block(snapshot: PlacementSnapshot) -> FreeBlock | None:
    """Finds the largest free block after the placements of this pass."""
    taken: Counter[int] = Counter()
    for decision in snapshot.decisions:
        if isinstance(decision, Placement):
            taken.update({node_id: len(units) for node_id, units in decision.nodes})
    blocks = [
        FreeBlock(len(node.free) - taken[node.node_id], node.name)
        for node in snapshot.nodes
        if node.takes_jobs
    ]
    best = max(blocks, key=lambda block: block.units, default=None)
    return best if best and best.units > 0 else None


def explain_each(reasons: Mapping[int, WaitingReason]) -> dict[int, WaitingExplanation]:
    return {key: WaitingExplanation.of(reason) for key, reason in reasons.items()}


def measure_lines(
    session: Session,
    snapshot: PlacementSnapshot,
    workspace_ids: set[int],
    new_jobs: Mapping[int, QueuedShapeTotal],
    longer_than: int,
) -> dict[int, LineWork]:
    """Measures the lines in which more jobs wait than `longer_than`, which have jobs behind those with a forecast."""
    totals: dict[int, list[QueuedShapeTotal]] = read_queue_totals(session, workspace_ids)
    for workspace_id, total in new_jobs.items():
        totals.setdefault(workspace_id, []).append(total)
    found: dict[int, LineWork] = {}
    for workspace_id, line in totals.items():
        if sum(total.count for total in line) > longer_than:
            running = [run for run in snapshot.running if run.workspace_id == workspace_id]
            work = measure_line(line, running, snapshot.quotas[workspace_id].limit)
            if work is not None:
                found[workspace_id] = work
    return found


def explain_decision(decision: NotPlaced, start: StartForecast | None) -> WaitingExplanation | None:
    """Returns None for a job behind others if nothing else is known about it: the jobs ahead are counted on request."""
    outlook = start.added_to_estimate(decision.outlook) if start else decision.outlook
    if not is_behind(decision):
        return WaitingExplanation.of(decision.reason, outlook)
    outlook = replace(outlook, ahead=0, first_ahead=None)
    return explain_behind_others(outlook) if outlook != UNKNOWN_START else None


def explain_behind_others(outlook: StartEstimate) -> WaitingExplanation:
    """Explains a job behind others without naming them."""
    data = to_waiting_data(AheadInQueue(0, 0), outlook)
    return WaitingExplanation(
        AheadInQueue.code, {key: value for key, value in data.items() if key not in ("count", "job_id")}
    )


def is_said_by_overview(overview: QueueOverview, snapshot: PlacementSnapshot, decision: NotPlaced) -> bool:
    job = snapshot.jobs.get(decision.job_id)
    if job is None:
        return False
    shared = overview.shared_reason(job.workspace_id, job.dataset_id, job.sweep_id)
    return shared is not None and shared.code == decision.reason.code


def write_queue(cluster: Cluster, held: HeldLease, before: WrittenQueue, after: WrittenQueue) -> bool:
    """Writes and publishes the differences. Returns whether there were any. Raises LeaseLost."""
    gone = [job_id for job_id in before.jobs if job_id not in after.jobs]
    new = {job_id: one for job_id, one in after.jobs.items() if before.jobs.get(job_id) != one}
    is_new_overview = after.overview != before.overview
    if not gone and not new and not is_new_overview:
        return False
    now = cluster.clock()
    with cluster.store.write() as session:
        check_lease(session, held)
        if gone or new:
            session.execute(
                delete(QueueExplanation).where(QueueExplanation.job_id.in_([*gone, *new])),
                execution_options={"synchronize_session": False},
            )
        if new:
            rows = [
                {
                    "job_id": job_id,
                    "fence": one.fence,
                    "code": one.explanation.code,
                    "data": dict(one.explanation.data),
                    "written_at": now,
                }
                for job_id, one in new.items()
            ]
            session.execute(insert(QueueExplanation), rows)
        if is_new_overview:
            session.merge(InstallationFact(name=QUEUE_OVERVIEW_FACT, value=overview_to_data(after.overview)))
    cluster.events.publish("queue", 0)
    return True
