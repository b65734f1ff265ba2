"""Explains why a job waits, or would wait if it were submitted, as the scheduler would write it now. Forms, dry runs
and the opened row of the queue use it; it costs a scheduling pass and the forecast of one line. Lists read what the
scheduler wrote last (`waiting_explanations`). Both come from the same decisions and are the same objects.
"""

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from math import inf
from time import thread_time
from typing import Any, TypeVar

from sqlalchemy import func, literal, select, tuple_
from sqlalchemy.orm import Session

from cluster.domain.placement.deep_queue_estimate import QueuedShapeTotal
from cluster.domain.placement.start_forecast import MAX_FORECAST_JOBS, forecast_in_steps
from cluster.domain.placement.types import Placement
from cluster.domain.queue.explanations import WaitingExplanation
from cluster.domain.queue.overview import QueueOverview
from cluster.domain.queue.start_estimate import MAX_AHEAD_COUNTED
from cluster.services.context import Cluster
from cluster.services.placement.past_durations import DurationRange, expected_duration
from cluster.services.placement.queue_heads import JOBS, QueuedJobRow, is_queued, read_workspace_queue
from cluster.services.placement.snapshot import PlacementSnapshot, build_snapshot, read_placement_snapshot
from cluster.services.queue.waiting_explanations import (
    JobsAhead,
    WaitingRow,
    count_ahead,
    explain_alone,
    explain_behind,
    explain_waits,
    read_user_names,
)
from cluster.services.queue.written_queue import (
    LineReport,
    WrittenQueue,
    decide_line,
    describe_queue,
    load_queue_overview,
    measure_lines,
)

Result = TypeVar("Result")
FORECAST_CPU_SECONDS = 0.2
"""The processor time for forecasting the starts of a line. With hundreds of nodes and runs it would take longer: 1.9 s
with 500 nodes and 4,000 runs. If the time is over, the sentence gives a range.
"""


class NewJobRow(QueuedJobRow):
    """A job that is only previewed, with the columns that its row would have."""

    held_at: datetime | None = None
    held_by: int | None = None
    waiting_data: dict[str, Any] | None = None


@dataclass(frozen=True)
class NewJobs:
    """Jobs of one workspace that are only previewed: the first of them as rows, in their order, and the number of all.

    `durations`: how long earlier jobs of their kind ran. `most_at_once`: the limit of their sweep.
    """

    rows: Sequence[NewJobRow]
    count: int
    durations: DurationRange | None = None
    most_at_once: int | None = None

    @property
    def total(self) -> QueuedShapeTotal:
        first = self.rows[0]
        expected = expected_duration(self.durations, first.time_limit_seconds)
        return QueuedShapeTotal(first.units, self.count, expected.seconds)


@dataclass(frozen=True)
class CurrentLine:
    """The current decisions of placement on the jobs of one workspace."""

    snapshot: PlacementSnapshot
    queue: WrittenQueue
    """The queue as the scheduler would write it now."""
    has_starts: bool = True
    """Whether starts behind the front could be forecast in the time that a page may take."""

    @property
    def placements(self) -> dict[int, Placement]:
        """Job id → placement, for the jobs that start now."""
        return {one.job_id: one for one in self.snapshot.decisions if isinstance(one, Placement)}


def explain_now(
    cluster: Cluster, session: Session, job: WaitingRow
) -> tuple[CurrentLine, WaitingExplanation]:
    """Explains one waiting job. If its start cannot be forecast within the time limit, it returns what the scheduler
    has written.
    """
    line = read_current_line(cluster, session, job.workspace_id)
    if not line.has_starts:
        now = line.snapshot.now
        return line, explain_waits(session, load_queue_overview(session), [job], now)[job.id]
    front = line.queue.overview.fronts.get(job.workspace_id)
    ahead = count_ahead(session, [job.id], [front] if front else [])
    holders = read_user_names(session, {job.held_by} if job.held_by else set())
    return line, explain_in_line(line, job, ahead[job.id], holders)


def explain_new_jobs(
    cluster: Cluster, session: Session, new: NewJobs
) -> dict[int, WaitingExplanation | Placement]:
    """Returns job id of `new.rows` → the placement if it would start now, else the reason why it would wait."""
    first = new.rows[0]
    line = read_current_line(cluster, session, first.workspace_id, new)
    placements = line.placements
    already = count_before(session, first)
    front = line.queue.overview.fronts.get(first.workspace_id)
    found: dict[int, WaitingExplanation | Placement] = {}
    waiting = already
    for row in new.rows:
        if row.id in placements:
            found[row.id] = placements[row.id]
            continue
        ahead = JobsAhead(min(waiting, MAX_AHEAD_COUNTED + 1), front if waiting else None)
        found[row.id] = explain_in_line(line, row, ahead, {})
        waiting += 1
    return found


def explain_in_line(
    line: CurrentLine, job: WaitingRow, ahead: JobsAhead, holders: dict[int | None, str]
) -> WaitingExplanation:
    overview, now = line.queue.overview, line.snapshot.now
    told = line.queue.jobs.get(job.id)
    written = told.explanation if told else None
    return explain_alone(overview, job, written, holders, now) or explain_behind(
        overview, job, ahead, written, now
    )


def read_current_line(
    cluster: Cluster, session: Session, workspace_id: int, new: NewJobs | None = None
) -> CurrentLine:
    """Reads the new jobs wherever their places are, and the same other jobs as the scheduler."""
    heads = read_placement_snapshot(cluster, session)
    added = list(new.rows) if new else []
    line = [*read_workspace_queue(session, workspace_id, MAX_FORECAST_JOBS), *added]
    line = sorted(line, key=lambda job: (job.position, job.id))[:MAX_FORECAST_JOBS]
    forecast = {**heads.jobs, **{job.id: job for job in line}}
    snapshot = build_snapshot(
        cluster,
        session,
        heads.context,
        {**forecast, **{job.id: job for job in added}}.values(),
        {(job.training_id, job.units): new.durations for job in added} if new else None,
        {job.sweep_id: new.most_at_once for job in added if job.sweep_id and new.most_at_once}
        if new
        else None,
    )
    seen = replace(snapshot, jobs_to_place=[job for job in snapshot.jobs_to_place if job.job_id in forecast])
    decided = finish(decide_line(snapshot, workspace_id))
    starts = finish(forecast_in_steps(seen, workspace_id), FORECAST_CPU_SECONDS)
    report = replace(decided or LineReport({}, {}), starts=starts or {})
    totals: Mapping[int, QueuedShapeTotal] = {workspace_id: new.total} if new else {}
    queue = describe_queue(session, snapshot, {workspace_id: report}, totals)
    if starts is None:
        queue = replace(queue, overview=with_range(session, snapshot, queue.overview, workspace_id, totals))
    return CurrentLine(snapshot, queue, has_starts=starts is not None)


def with_range(
    session: Session,
    snapshot: PlacementSnapshot,
    overview: QueueOverview,
    workspace_id: int,
    new_jobs: Mapping[int, QueuedShapeTotal],
) -> QueueOverview:
    """Adds the work of the line as if the line were long, so that its starts are ranges."""
    lines = measure_lines(session, snapshot, {workspace_id}, new_jobs, longer_than=0)
    return replace(overview, lines={**overview.lines, **lines})


def finish(steps: Generator[None, None, Result], seconds: float = inf) -> Result | None:
    """Runs the generator to its end and returns its value; None if it takes more processor time than that."""
    begun = thread_time()
    while thread_time() - begun < seconds:
        try:
            next(steps)
        except StopIteration as end:
            result: Result = end.value
            return result
    return None


def count_before(session: Session, job: NewJobRow) -> int:
    """The number of jobs of the line before a new one. MAX_AHEAD_COUNTED + 1 stands for any larger number."""
    before = (
        select(literal(1))
        .where(
            is_queued(JOBS),
            JOBS.c.workspace_id == job.workspace_id,
            tuple_(JOBS.c.position, JOBS.c.id) < tuple_(job.position, job.id),
        )
        .limit(MAX_AHEAD_COUNTED + 1)
    )
    return session.scalar(select(func.count()).select_from(before.subquery())) or 0
