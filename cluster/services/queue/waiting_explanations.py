"""Explains why jobs wait and when they are expected to start, from what the scheduler wrote last.

Page, REST and command show the same object. The number of jobs ahead changes with every start, so it is not written
but counted here.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

from sqlalchemy import CTE, ScalarSelect, bindparam, func, literal, select, tuple_
from sqlalchemy.orm import Session

from cluster.domain.queue.explanations import WaitingExplanation
from cluster.domain.queue.line_work import estimate_start_range
from cluster.domain.queue.overview import QueueOverview
from cluster.domain.queue.reasons import (
    AheadInQueue,
    AttemptInterrupted,
    JobOnHold,
    NotYetExamined,
    RetryAfterFailure,
    to_waiting_data,
)
from cluster.domain.queue.retry_backoff import parse_backoff
from cluster.domain.queue.start_estimate import MAX_AHEAD_COUNTED, UNKNOWN_START, with_jobs_ahead
from cluster.services.placement.queue_heads import JOBS, is_queued
from cluster.store.queue import QueueExplanation
from cluster.store.users import User

START_NAMES = frozenset(("starts_at", "earliest_at", "latest_at", "source", "starts_on_node", "freed_by"))


@dataclass(frozen=True)
class JobsAhead:
    """Jobs of the line before one: how many (MAX_AHEAD_COUNTED + 1 stands for more), and which starts next."""

    count: int
    first: int | None
    """The first job ahead; None if nobody is ahead."""


NOBODY_AHEAD = JobsAhead(0, None)


class WaitingRow(Protocol):
    """A waiting job's row, or the columns of one."""

    @property
    def id(self) -> int: ...
    @property
    def workspace_id(self) -> int: ...
    @property
    def dataset_id(self) -> int | None: ...
    @property
    def sweep_id(self) -> int | None: ...
    @property
    def fence(self) -> int: ...
    @property
    def held_at(self) -> datetime | None: ...
    @property
    def held_by(self) -> int | None: ...
    @property
    def waiting_code(self) -> str | None: ...
    @property
    def waiting_data(self) -> dict[str, Any] | None: ...


def explain_waits(
    session: Session, overview: QueueOverview, jobs: Sequence[Any], now: datetime
) -> dict[int, WaitingExplanation]:
    """Returns job id → explanation. All `jobs` wait, and they have the columns of `WaitingRow`."""
    written = read_written_explanations(session, jobs)
    holders = read_user_names(session, {job.held_by for job in jobs if job.held_by})
    found: dict[int, WaitingExplanation] = {}
    behind: list[WaitingRow] = []
    for job in jobs:
        told = explain_alone(overview, job, written.get(job.id), holders, now)
        if told is None:
            behind.append(job)
        else:
            found[job.id] = told
    fronts = {overview.fronts[job.workspace_id] for job in behind if job.workspace_id in overview.fronts}
    ahead = count_ahead(session, [job.id for job in behind], fronts)
    for job in behind:
        start = written.get(job.id)
        found[job.id] = explain_behind(overview, job, ahead.get(job.id, NOBODY_AHEAD), start, now)
    return found


def explain_alone(
    overview: QueueOverview,
    job: WaitingRow,
    written: WaitingExplanation | None,
    holders: dict[int | None, str],
    now: datetime,
) -> WaitingExplanation | None:
    """Returns the reason why the job waits apart from the jobs before it; None if it waits only because of its
    position.
    """
    if job.held_at is not None:
        return WaitingExplanation.of(JobOnHold(holders.get(job.held_by, "…"), job.held_at))
    if written is not None and written.code != AheadInQueue.code:
        return without_past_start(written, now)
    if pause := parse_backoff(job.waiting_code, job.waiting_data, now):
        return WaitingExplanation.of(pause)
    return overview.shared_reason(job.workspace_id, job.dataset_id, job.sweep_id)


def explain_behind(
    overview: QueueOverview,
    job: WaitingRow,
    ahead: JobsAhead,
    start: WaitingExplanation | None,
    now: datetime,
) -> WaitingExplanation:
    """Explains a job by the jobs before it. If it is the first of its line, the scheduler's next pass will say more."""
    if ahead.first is None:
        if job.waiting_code in (AttemptInterrupted.code, RetryAfterFailure.code):
            return WaitingExplanation(job.waiting_code, job.waiting_data or {})
        return WaitingExplanation.of(NotYetExamined())
    estimate = with_jobs_ahead(UNKNOWN_START, ahead.count)
    work = overview.lines.get(job.workspace_id)
    if start is None and work is not None:
        estimate = estimate_start_range(work, estimate.ahead, estimate.is_more_ahead, now)
        estimate = with_jobs_ahead(estimate, ahead.count)
    data = to_waiting_data(AheadInQueue(estimate.ahead, ahead.first), estimate) | {"first_ahead": ahead.first}
    known = without_past_start(start, now).data if start else {}
    return WaitingExplanation(AheadInQueue.code, {**data, **known})


def without_past_start(written: WaitingExplanation, now: datetime) -> WaitingExplanation:
    """Removes an expected start that has passed; the next pass finds another."""
    if written.starts_at is None or written.starts_at > now:
        return written
    known = {name: value for name, value in written.data.items() if name not in START_NAMES}
    return WaitingExplanation(written.code, known)


def read_written_explanations(session: Session, jobs: Iterable[WaitingRow]) -> dict[int, WaitingExplanation]:
    """Returns job id → the written explanation, for jobs that have had no attempt since it was written."""
    fences = {job.id: job.fence for job in jobs}
    if not fences:
        return {}
    rows = session.execute(WRITTEN, {"job_ids": list(fences)})
    return {
        job_id: WaitingExplanation(code, data)
        for job_id, fence, code, data in rows
        if fence == fences[job_id]
    }


WRITTEN = select(
    QueueExplanation.job_id, QueueExplanation.fence, QueueExplanation.code, QueueExplanation.data
).where(QueueExplanation.job_id.in_(bindparam("job_ids", expanding=True)))


def count_ahead(
    session: Session, job_ids: Sequence[int], fronts: Collection[int] = ()
) -> dict[int, JobsAhead]:
    """Counts the jobs of the line before each job, without held ones.

    `fronts` are the jobs that the scheduler has found to start next. A front that has started, is held or was
    overtaken since then is replaced by the first job of the line.
    """
    if not job_ids:
        return {}
    asked = select_places({*job_ids, *fronts})
    columns = (asked.c.id, asked.c.workspace_id, asked.c.is_queued, count_between(asked), find_first(asked))
    in_order = select(*columns).order_by(asked.c.workspace_id, asked.c.position, asked.c.id)
    found: dict[int, JobsAhead] = {}
    workspace_id, number, next_job = None, 0, None
    for job_id, job_workspace_id, is_in_line, step, first_job in session.execute(in_order):
        if job_workspace_id != workspace_id:
            workspace_id, number, next_job = job_workspace_id, 0, first_job
        number = min(number + step, MAX_AHEAD_COUNTED + 1)
        found[job_id] = JobsAhead(number, next_job if number else None)
        if is_in_line and job_id in fronts:
            next_job = job_id
    return found


def select_places(job_ids: Collection[int]) -> CTE:
    """Selects the position of each job in its line, and the position of the nearest of these jobs before it."""
    place = (JOBS.c.position, JOBS.c.id)
    return (
        select(
            JOBS.c.id,
            JOBS.c.workspace_id,
            JOBS.c.position,
            is_queued(JOBS).label("is_queued"),
            func.lag(JOBS.c.position)
            .over(partition_by=JOBS.c.workspace_id, order_by=place)
            .label("last_position"),
            func.lag(JOBS.c.id).over(partition_by=JOBS.c.workspace_id, order_by=place).label("last_id"),
        )
        .where(JOBS.c.id.in_(job_ids))
        .cte("asked")
    )


def count_between(asked: CTE) -> ScalarSelect[int]:
    """Counts the jobs between a job and the nearest asked one before it in the same line, so that no job is counted
    twice.
    """
    before = JOBS.alias("before")
    here = tuple_(before.c.position, before.c.id)
    last = tuple_(func.coalesce(asked.c.last_position, -(1 << 62)), func.coalesce(asked.c.last_id, 0))
    between = (
        select(literal(1))
        .where(
            is_queued(before),
            before.c.workspace_id == asked.c.workspace_id,
            here < tuple_(asked.c.position, asked.c.id),
            here >= last,
        )
        .limit(MAX_AHEAD_COUNTED + 1)
        .correlate(asked)
        .subquery()
    )
    return select(func.count()).select_from(between).scalar_subquery()


def find_first(asked: CTE) -> ScalarSelect[int]:
    """The first job of each line."""
    line = JOBS.alias("line")
    return (
        select(line.c.id)
        .where(is_queued(line), line.c.workspace_id == asked.c.workspace_id)
        .order_by(line.c.position, line.c.id)
        .limit(1)
        .correlate(asked)
        .scalar_subquery()
    )


def read_user_names(session: Session, user_ids: set[int]) -> dict[int | None, str]:
    if not user_ids:
        return {}
    query = select(User.id, User.name).where(User.id.in_(user_ids))
    return {user_id: name for user_id, name in session.execute(query)}  # noqa: C416
