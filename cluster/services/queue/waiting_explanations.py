"""Explains why jobs wait and when they are expected to start, computed when a page, REST or the command asks.

Page, REST and command show the same object. Rows keep only what kind of reason a job had, and since when.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import func, literal, select, tuple_
from sqlalchemy.orm import Session

from cluster.cached_property import unlocked_cached_property
from cluster.domain.placement.deep_queue_estimate import estimate_start_range
from cluster.domain.placement.start_forecast import MAX_FORECAST_JOBS, StartForecast, forecast_starts
from cluster.domain.placement.types import Placement, PlacementDecision
from cluster.domain.placement.what_if import suggest_changes
from cluster.domain.queue.reasons import (
    AheadInQueue,
    JobOnHold,
    SweepLimitReached,
    WaitingReason,
    to_waiting_data,
)
from cluster.domain.queue.retry_backoff import parse_backoff
from cluster.domain.queue.start_estimate import (
    MAX_AHEAD_COUNTED,
    UNKNOWN_START,
    StartEstimate,
    with_jobs_ahead,
)
from cluster.services.context import Cluster
from cluster.services.placement.queue_heads import JOBS, is_queued
from cluster.services.placement.snapshot import PlacementSnapshot, read_placement_snapshot
from cluster.services.placement.start_blockers import read_dataset_reasons, read_sweep_slots
from cluster.services.queue.totals import read_queue_totals
from cluster.store.jobs import Job
from cluster.store.users import User


@dataclass(frozen=True)
class WaitingExplanation:
    """`reason` None: its turn has come, and the scheduler is about to start it."""

    reason: WaitingReason | None
    estimate: StartEstimate = UNKNOWN_START

    @property
    def code(self) -> str | None:
        return self.reason.code if self.reason else None

    @property
    def data(self) -> dict[str, Any]:
        return to_waiting_data(self.reason, self.estimate) if self.reason else {}


@dataclass(frozen=True)
class QueueSnapshot:
    """The decisions of placement for the queue heads, and the start forecasts of the jobs behind them."""

    placement: PlacementSnapshot
    decisions: dict[int, PlacementDecision]
    start_forecasts: dict[int, StartForecast]
    line: int | None
    """The workspace of which the starts are played forward."""

    blocked: frozenset[int]
    """Queue heads with a blocker of their own; jobs behind them may start first."""

    @unlocked_cached_property
    def heads(self) -> dict[int, int]:
        """The job that starts next, by workspace."""
        return self.first_of_each(job_id for job_id in self.decisions if job_id not in self.blocked)

    @unlocked_cached_property
    def first_jobs(self) -> dict[int, int]:
        """The job that stands first, by workspace, whatever keeps it."""
        return self.first_of_each(self.decisions)

    def first_of_each(self, job_ids: Iterable[int]) -> dict[int, int]:
        found: dict[int, int] = {}
        for job_id in job_ids:
            found.setdefault(self.placement.jobs[job_id].workspace_id, job_id)
        return found


def read_queue_snapshot(cluster: Cluster, session: Session, line: int | None = None) -> QueueSnapshot:
    """`line`: the workspace of which starts are wanted for the first `MAX_FORECAST_JOBS` jobs."""
    board = read_placement_snapshot(cluster, session, line, MAX_FORECAST_JOBS if line is not None else 0)
    decisions = {decision.job_id: decision for decision in board.decisions}
    expected = forecast_starts(board, line) if line is not None else {}
    blocked = frozenset(head.job_id for head in board.jobs_to_place if head.blocked_by)
    return QueueSnapshot(board, decisions, expected, line, blocked)


FEW_WORKSPACES = 4
FORECAST_DEPTH = 50


def read_full_queue_snapshot(cluster: Cluster, session: Session) -> QueueSnapshot:
    """Everybody's queue. Where few lines are waited in, the starts of all of them are played forward."""
    queue = read_queue_snapshot(cluster, session)
    lines = {job.workspace_id for job in queue.placement.jobs.values()}
    if not 0 < len(lines) <= FEW_WORKSPACES:
        return queue
    board = read_placement_snapshot(cluster, session, at_least=FORECAST_DEPTH)
    expected = {job_id: one for line in lines for job_id, one in forecast_starts(board, line).items()}
    blocked = frozenset(head.job_id for head in board.jobs_to_place if head.blocked_by)
    return QueueSnapshot(board, {each.job_id: each for each in board.decisions}, expected, None, blocked)


def explain_waits(
    cluster: Cluster, session: Session, queue: QueueSnapshot, jobs: Sequence[Job]
) -> dict[int, WaitingExplanation]:
    """By job, of those that wait."""
    known = {job.id: standing for job in jobs if (standing := explain_head(queue, job))}
    rest = [job for job in jobs if job.id not in known]
    obstacles = read_own_blockers(session, queue, rest)
    holders = read_user_names(session, {job.held_by for job in rest if job.held_by})
    behind = [job for job in rest if job.held_at is None and job.id not in obstacles]
    known |= explain_deeper(cluster, session, queue, behind)
    ahead = count_ahead(session, [job.id for job in behind if job.id not in known])
    for job in [job for job in rest if job.id not in known]:
        if job.held_at is not None:
            known[job.id] = WaitingExplanation(JobOnHold(holders.get(job.held_by, "…"), job.held_at))
        elif job.id in obstacles:
            known[job.id] = WaitingExplanation(obstacles[job.id])
        else:
            known[job.id] = explain_behind(cluster, session, queue, job, ahead[job.id])
    return known


def explain_deeper(
    cluster: Cluster, session: Session, queue: QueueSnapshot, jobs: Sequence[Job]
) -> dict[int, WaitingExplanation]:
    """Of lines of which only jobs were looked at that something of their own keeps: these are looked at deeper."""
    lines = {job.workspace_id for job in jobs} - queue.heads.keys() - {queue.line}
    found: dict[int, WaitingExplanation] = {}
    for line in sorted(lines):
        mine = [job for job in jobs if job.workspace_id == line]
        found |= explain_waits(cluster, session, read_queue_snapshot(cluster, session, line), mine)
    return found


def explain_head(queue: QueueSnapshot, job: Job) -> WaitingExplanation | None:
    """What placement itself has said; None of jobs that it did not look at, or only passed."""
    decision = queue.decisions.get(job.id)
    if decision is None or job.held_at is not None:
        return None
    if isinstance(decision, Placement):
        return WaitingExplanation(None)
    if isinstance(decision.reason, AheadInQueue):
        return None
    outlook = decision.outlook
    if expected := queue.start_forecasts.get(job.id):
        outlook = expected.added_to_estimate(outlook)
    return WaitingExplanation(decision.reason, outlook)


def explain_behind(
    cluster: Cluster, session: Session, queue: QueueSnapshot, job: Job, ahead: int
) -> WaitingExplanation:
    front = queue.heads.get(job.workspace_id, queue.first_jobs.get(job.workspace_id, job.id))
    outlook = with_jobs_ahead(StartEstimate(first_ahead=front), ahead)
    expected = queue.start_forecasts.get(job.id)
    if expected is None and queue.line == job.workspace_id and ahead >= MAX_FORECAST_JOBS:
        expected = forecast_from_totals(session, queue, job, outlook.ahead, outlook.is_more_ahead)
    return WaitingExplanation(
        AheadInQueue(outlook.ahead, front), expected.added_to_estimate(outlook) if expected else outlook
    )


def forecast_from_totals(
    session: Session, queue: QueueSnapshot, job: Job, ahead: int, is_more: bool
) -> StartForecast | None:
    """The least that stands before it tells the earliest start, the most of it the latest."""
    totals = read_queue_totals(session, job.workspace_id)
    running = [run for run in queue.placement.running if run.workspace_id == job.workspace_id]
    limit = queue.placement.quotas[job.workspace_id].limit
    whole = sum(total.count for total in totals)
    part = (
        [replace(total, count=max(1, round(total.count * ahead / whole))) for total in totals]
        if whole
        else []
    )
    least = estimate_start_range(job.id, part, running, limit, queue.placement.now)
    most = estimate_start_range(job.id, totals if is_more else part, running, limit, queue.placement.now)
    if least is None or most is None:
        return None
    return replace(least, latest_at=most.latest_at)


def with_suggestion(queue: QueueSnapshot, job: Job, standing: WaitingExplanation) -> WaitingExplanation:
    """Adds what would let the job start now; computed only for the one job that a person opens."""
    head = next((head for head in queue.placement.jobs_to_place if head.job_id == job.id), None)
    if head is None or standing.reason is None:
        return standing
    advice = suggest_changes(queue.placement, head, float(job.grace_seconds))
    return replace(standing, estimate=advice.added_to_estimate(standing.estimate)) if advice else standing


def read_own_blockers(
    session: Session, queue: QueueSnapshot, jobs: Sequence[Job]
) -> dict[int, WaitingReason]:
    """Reads the blockers of jobs behind the heads: backoff, term, dataset, environment or sweep limit."""
    datasets = read_dataset_reasons(session, {job.dataset_id for job in jobs if job.dataset_id})
    room = read_sweep_slots(session, {job.sweep_id for job in jobs if job.sweep_id})
    full = {
        sweep_id: SweepLimitReached(sweep_id, most) for sweep_id, (most, left) in room.items() if left == 0
    }
    obstacles = replace(queue.placement.blockers, datasets=datasets)
    found = {
        job.id: parse_backoff(job.waiting_code, job.waiting_data, queue.placement.now)
        or obstacles.reason_for(job.workspace_id, job.dataset_id)
        or full.get(job.sweep_id or 0)
        for job in jobs
    }
    return {job_id: reason for job_id, reason in found.items() if reason}


def count_ahead(session: Session, job_ids: Sequence[int]) -> dict[int, int]:
    """Jobs of the line before each, held ones left out; one more than MAX_AHEAD_COUNTED stands for more."""
    if not job_ids:
        return {}
    asked, before = JOBS.alias("asked"), JOBS.alias("before")
    line = (
        select(literal(1))
        .where(
            is_queued(before),
            before.c.workspace_id == asked.c.workspace_id,
            tuple_(before.c.position, before.c.id) < tuple_(asked.c.position, asked.c.id),
        )
        .limit(MAX_AHEAD_COUNTED + 1)
        .correlate(asked)
        .subquery()
    )
    count = select(func.count()).select_from(line).scalar_subquery()
    query = select(asked.c.id, count).where(asked.c.id.in_(job_ids))
    return {job_id: number for job_id, number in session.execute(query)}  # noqa: C416


def read_user_names(session: Session, user_ids: set[int]) -> dict[int | None, str]:
    if not user_ids:
        return {}
    query = select(User.id, User.name).where(User.id.in_(user_ids))
    return {user_id: name for user_id, name in session.execute(query)}  # noqa: C416
