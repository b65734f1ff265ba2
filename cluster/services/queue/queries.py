"""Reads the queue for pages and REST: the waiting jobs in their true order with the reason, the running jobs with
their expected end."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any

from sqlalchemy import Select, select, tuple_
from sqlalchemy.orm import Session

from cluster.domain.people.actor import Actor
from cluster.domain.placement.types import NodeUnits
from cluster.domain.queue.explanations import WaitingExplanation
from cluster.domain.queue.overview import QueueOverview
from cluster.domain.states import JobState
from cluster.services.context import Cluster
from cluster.services.jobs.queries import (
    JobLine,
    JobRecord,
    filter_ids_of_user,
    load_job_lines,
    load_whole_job,
)
from cluster.services.jobs.state_counts import read_oldest_and_running
from cluster.services.placement.capacity import read_running_on_nodes
from cluster.services.placement.queue_heads import WAITING_STATE
from cluster.services.queue.current_explanations import explain_now
from cluster.services.queue.reason_counts import ReasonCount, ReasonFilters, count_reasons, reason_filters
from cluster.services.queue.running_jobs import RunningJob, read_running_jobs
from cluster.services.queue.waiting_explanations import explain_waits
from cluster.services.queue.written_queue import load_queue_overview
from cluster.store.jobs import Job
from cluster.store.sql.visibility import can_see_job

RUNNING_SHOWN = 25
STATES = ("waiting", "held", "running")
"""The states that a list of the queue can be narrowed to: in line, held, running. Without a filter it has all."""
QueueCursor = tuple[int, int]
"""Position and id of the last job of a page: the next page begins behind it."""


@dataclass(frozen=True)
class QueueFilters:
    """Filters of the queue page; `after` and `after_head` say where its page begins."""

    workspace_id: int | None = None
    user_id: int | None = None
    reason: str | None = None
    state: str | None = None
    """One of STATES."""
    after: QueueCursor | None = None
    after_head: int | None = None
    """Pages of everybody's queue begin with the fronts of all lines, in the order of their turns."""
    after_run: QueueCursor | None = None
    """The cursor of the last running job on the page before: its end in milliseconds, and its id."""
    limit: int = 50

    @property
    def is_everything(self) -> bool:
        return (self.workspace_id, self.user_id, self.reason) == (None, None, None) and self.state != "held"

    @property
    def is_filtered(self) -> bool:
        return not self.is_everything or self.state is not None


@dataclass(frozen=True)
class WaitingJob:
    """`job` is None if the reader may not see the job; its place in the line is shown all the same."""

    id: int
    job: JobLine | None
    units: int
    explanation: WaitingExplanation


@dataclass(frozen=True)
class OpenedJob:
    """The one job whose row a person has opened, with placement's decision on it now, and the present nodes."""

    job: Job
    explanation: WaitingExplanation
    nodes: list[NodeUnits]


@dataclass(frozen=True)
class QueueView:
    waiting: list[WaitingJob]
    next_after: QueueCursor | None
    next_after_head: int | None
    reasons: list[ReasonCount]
    running: list[RunningJob]
    next_after_run: QueueCursor | None
    opened: OpenedJob | None = None


@dataclass(frozen=True)
class QueueSummary:
    """The counts of the whole queue by reason, the time since which its longest waiting job waits, and the number of
    jobs that hold units.
    """

    counts: list[ReasonCount]
    oldest_submission: datetime | None
    running: int
    """MAX_AHEAD_COUNTED + 1 stands for more."""


def read_queue(
    cluster: Cluster,
    actor: Actor,
    wanted: QueueFilters | None = None,
    opened: int | None = None,
    share: Callable[[Callable[[], list[ReasonCount]]], list[ReasonCount]] | None = None,
) -> QueueView:
    """Returns one page of waiting and running jobs; of jobs that the person may not see only the position and size
    are shown.

    Reasons and starts are what the scheduler last wrote. For the one job that is `opened` placement decides again.
    `share` computes the reasons of the whole queue, which are the same for every reader.
    """
    wanted = wanted or QueueFilters()
    now = cluster.clock()
    with cluster.store.read() as session:
        overview = load_queue_overview(session)
        causes = reason_filters(overview)
        ids, next_after, next_front = read_waiting_page(session, actor, overview, causes, wanted)
        rows, seen = load_job_lines(session, actor, ids)
        waiting = [rows[job_id] for job_id in ids if job_id in rows and rows[job_id].is_waiting]
        told = explain_waits(session, overview, waiting, now)
        running, next_run = read_running_page(session, actor, now, wanted)
        count_all = partial(count_reasons, session, causes)
        shown = open_job(cluster, session, opened) if opened in seen and opened in told else None
        if shown:
            told[shown.job.id] = shown.explanation
        return QueueView(
            [WaitingJob(job.id, job if job.id in seen else None, job.units, told[job.id]) for job in waiting],
            next_after,
            next_front,
            share(count_all)
            if share is not None and wanted.workspace_id is None
            else count_reasons(session, causes, wanted.workspace_id),
            running,
            next_run,
            shown,
        )


def open_job(cluster: Cluster, session: Session, job_id: int) -> OpenedJob:
    """Explains one job as of now, which costs a whole scheduling pass."""
    job = load_whole_job(session, job_id)
    line, explanation = explain_now(cluster, session, job)
    return OpenedJob(job, explanation, list(line.snapshot.nodes))


def read_waiting_explanation(cluster: Cluster, job: Job | JobRecord) -> WaitingExplanation:
    """Explains one waiting job."""
    with cluster.store.read() as session:
        return explain_waits(session, load_queue_overview(session), [job], cluster.clock())[job.id]


def read_waiting_explanations(cluster: Cluster, jobs: Sequence[Any]) -> dict[int, WaitingExplanation]:
    """Explains the jobs among these that wait."""
    waiting = [job for job in jobs if job.state is JobState.WAITING]
    if not waiting:
        return {}
    with cluster.store.read() as session:
        return explain_waits(session, load_queue_overview(session), waiting, cluster.clock())


def read_queue_summary(cluster: Cluster) -> QueueSummary:
    """Returns the summary of the queue, which is the same for every reader."""
    with cluster.store.read() as session:
        counts = count_reasons(session, reason_filters(load_queue_overview(session)))
        return QueueSummary(counts, *read_oldest_and_running(session))


def read_running_page(
    session: Session, actor: Actor, now: datetime, wanted: QueueFilters
) -> tuple[list[RunningJob], QueueCursor | None]:
    """Reads the first few running jobs for a list of waiting ones; for a list of running jobs, one page of all of
    them.
    """
    if wanted.state in ("waiting", "held"):
        return [], None
    is_page = wanted.state == "running"
    limit, after = (wanted.limit, wanted.after_run) if is_page else (RUNNING_SHOWN, None)
    running = read_running_on_nodes(session, now)
    return read_running_jobs(session, actor, running, limit, wanted.workspace_id, wanted.user_id, after)


def read_waiting_page(
    session: Session, actor: Actor, overview: QueueOverview, causes: ReasonFilters, wanted: QueueFilters
) -> tuple[list[int], QueueCursor | None, int | None]:
    """Returns the ids of one page and the cursor of the next one, which is a place in a line or a front."""
    if wanted.state == "running":
        return [], None, None
    if wanted.reason is not None and wanted.reason in causes.by_head:
        if wanted.state == "held":
            return [], None, None
        return cut_heads(filter_heads(session, actor, causes.by_head[wanted.reason], wanted), wanted)
    if wanted.is_everything and wanted.after is None:
        ids, _, next_front = cut_heads(list(overview.order), wanted)
        missing = wanted.limit - len(ids)
        if next_front is not None or missing == 0:
            return ids, None if next_front else (-(1 << 62), 0), next_front
        more, following = read_page_by_position(session, actor, overview, causes, wanted, missing)
        return ids + more, following, None
    ids, following = read_page_by_position(session, actor, overview, causes, wanted, wanted.limit)
    return ids, following, None


def cut_heads(fronts: list[int], wanted: QueueFilters) -> tuple[list[int], None, int | None]:
    begin = fronts.index(wanted.after_head) + 1 if wanted.after_head in fronts else 0
    page = fronts[begin : begin + wanted.limit]
    is_more = len(fronts) > begin + len(page)
    return page, None, page[-1] if page and is_more else None


def filter_heads(session: Session, actor: Actor, fronts: Sequence[int], wanted: QueueFilters) -> list[int]:
    """Keeps the heads of the chosen workspace and person."""
    if wanted.workspace_id is None and wanted.user_id is None:
        return list(fronts)
    query = select(Job.id).where(Job.id.in_(fronts))
    if wanted.workspace_id is not None:
        query = query.where(Job.workspace_id == wanted.workspace_id)
    mine = set(session.scalars(query))
    if wanted.user_id is not None:
        mine = filter_ids_of_user(session, actor, mine, wanted.user_id)
    return [job_id for job_id in fronts if job_id in mine]


def read_page_by_position(
    session: Session,
    actor: Actor,
    overview: QueueOverview,
    causes: ReasonFilters,
    wanted: QueueFilters,
    limit: int,
) -> tuple[list[int], QueueCursor | None]:
    """Reads a page in the order of positions. Each of its queries is one search of an index."""
    base = select(Job.position, Job.id).where(Job.state == WAITING_STATE)
    if wanted.after is not None:
        base = base.where(tuple_(Job.position, Job.id) > tuple_(*wanted.after))
    if wanted.user_id is not None:
        base = base.where(Job.user_id == wanted.user_id, can_see_job(actor))
    if wanted.workspace_id is not None:
        base = base.where(Job.workspace_id == wanted.workspace_id)
    if wanted.reason is not None:
        base = base.where(causes.condition(wanted.reason))
    if wanted.is_everything:
        base = base.where(Job.id.not_in(list(overview.order)))
    base = base.order_by(Job.position, Job.id).limit(limit + 1)
    found = sorted(place for query in split_by_index(base, wanted) for place in session.execute(query))
    page = found[:limit]
    following = (page[-1][0], page[-1][1]) if len(found) > limit else None
    return [place[1] for place in page], following


def split_by_index(base: Select[int, int], wanted: QueueFilters) -> list[Select[int, int]]:
    """A workspace's line and its held jobs have an index each."""
    if wanted.state is not None:
        return [base.where(Job.held_at.is_not(None) if wanted.state == "held" else Job.held_at.is_(None))]
    if wanted.workspace_id is None or wanted.user_id is not None:
        return [base]
    return [base.where(Job.held_at.is_(None)), base.where(Job.held_at.is_not(None))]
