"""Reads the queue for pages and REST: the waiting jobs in their true order with the reason, the running jobs with
their expected end."""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Select, select, tuple_
from sqlalchemy.orm import Session

from cluster.domain.people.actor import Actor
from cluster.domain.placement.types import NodeUnits
from cluster.domain.states import JobState
from cluster.services.context import Cluster
from cluster.services.jobs.queries import filter_ids_of_user, load_jobs_and_visible
from cluster.services.jobs.state_counts import read_oldest_submission
from cluster.services.placement.queue_heads import WAITING_STATE
from cluster.services.queue.reason_counts import (
    ReasonCount,
    ReasonFilters,
    count_reasons,
    read_reason_filters,
)
from cluster.services.queue.running_jobs import RunningJob, read_running_jobs
from cluster.services.queue.waiting_explanations import (
    QueueSnapshot,
    WaitingExplanation,
    explain_waits,
    read_full_queue_snapshot,
    read_queue_snapshot,
    with_suggestion,
)
from cluster.store.jobs import Job
from cluster.store.sql.visibility import can_see_job

RUNNING_SHOWN = 25
STATES = ("waiting", "held", "running")
"""What the queue can be asked for: who stands in line, who is held, who runs. Without a wish: all of them."""
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
    """Where the last running job of the page before stood: its end in milliseconds, and its id."""
    limit: int = 50

    @property
    def is_everything(self) -> bool:
        return (self.workspace_id, self.user_id, self.reason) == (None, None, None) and self.state != "held"

    @property
    def is_filtered(self) -> bool:
        return not self.is_everything or self.state is not None


@dataclass(frozen=True)
class WaitingJob:
    """`job` is None where the reader may not see it: it still stands in the line."""

    id: int
    job: Job | None
    units: int
    explanation: WaitingExplanation


@dataclass(frozen=True)
class QueueView:
    waiting: list[WaitingJob]
    next_after: QueueCursor | None
    next_after_head: int | None
    reasons: list[ReasonCount]
    running: list[RunningJob]
    next_after_run: QueueCursor | None
    nodes: list[NodeUnits]


def read_queue(
    cluster: Cluster, actor: Actor, wanted: QueueFilters | None = None, opened: int | None = None
) -> QueueView:
    """Returns one page of waiting and running jobs; of jobs that the person may not see only the position and size
    are shown.

    Advice is asked for the one job that is `opened`.
    """
    wanted = wanted or QueueFilters()
    with cluster.store.read() as session:
        whole = wanted.workspace_id is None
        queue = (
            read_full_queue_snapshot(cluster, session)
            if whole
            else read_queue_snapshot(cluster, session, wanted.workspace_id)
        )
        causes = read_reason_filters(session, queue)
        ids, next_after, next_front = read_waiting_page(session, actor, queue, causes, wanted)
        rows, seen = load_jobs_and_visible(session, actor, ids, opened)
        standings = explain_waits(cluster, session, queue, list(rows.values()))
        if opened in standings:
            standings[opened] = with_suggestion(queue, rows[opened], standings[opened])
        running, next_run = read_running_page(session, actor, queue, wanted)
        return QueueView(
            [
                WaitingJob(job_id, seen.get(job_id), rows[job_id].units, standings[job_id])
                for job_id in ids
                if job_id in standings
            ],
            next_after,
            next_front,
            count_reasons(session, queue, causes, wanted.workspace_id),
            running,
            next_run,
            list(queue.placement.nodes),
        )


def read_waiting_explanation(cluster: Cluster, job: Job) -> tuple[WaitingExplanation, list[NodeUnits]]:
    """Of one waiting job, with its expected start and what would help; and the nodes as they are."""
    with cluster.store.read() as session:
        queue = read_queue_snapshot(cluster, session, job.workspace_id)
        known = explain_waits(cluster, session, queue, [job])
        return with_suggestion(queue, job, known[job.id]), list(queue.placement.nodes)


def read_waiting_explanations(cluster: Cluster, jobs: list[Job]) -> dict[int, WaitingExplanation]:
    """Of the waiting ones among these jobs, for lists: without expected starts."""
    waiting = [job for job in jobs if job.state.value == "waiting"]
    if not waiting:
        return {}
    with cluster.store.read() as session:
        return explain_waits(cluster, session, read_queue_snapshot(cluster, session), waiting)


@dataclass(frozen=True)
class QueueSummary:
    """The whole queue by reasons, since when its longest waiting job waits, and how some jobs stand in it."""

    counts: list[ReasonCount]
    oldest_submission: datetime | None
    explanations: dict[int, WaitingExplanation]


def read_queue_summary(cluster: Cluster, jobs: list[Job]) -> QueueSummary:
    """One look for all of it: `jobs` are those of a list beside the counts."""
    waiting = [job for job in jobs if job.state is JobState.WAITING]
    with cluster.store.read() as session:
        queue = read_queue_snapshot(cluster, session)
        counts = count_reasons(session, queue, read_reason_filters(session, queue), None)
        standings = explain_waits(cluster, session, queue, waiting) if waiting else {}
        return QueueSummary(counts, read_oldest_submission(session), standings)


def read_running_page(
    session: Session, actor: Actor, queue: QueueSnapshot, wanted: QueueFilters
) -> tuple[list[RunningJob], QueueCursor | None]:
    """Beside what waits the first few; all of them, page by page, where they are asked for."""
    if wanted.state in ("waiting", "held"):
        return [], None
    is_page = wanted.state == "running"
    limit, after = (wanted.limit, wanted.after_run) if is_page else (RUNNING_SHOWN, None)
    return read_running_jobs(
        session, actor, queue.placement, limit, wanted.workspace_id, wanted.user_id, after
    )


def read_waiting_page(
    session: Session, actor: Actor, queue: QueueSnapshot, causes: ReasonFilters, wanted: QueueFilters
) -> tuple[list[int], QueueCursor | None, int | None]:
    """The ids of one page; where the next one begins: behind a place, or behind a front."""
    if wanted.state == "running":
        return [], None, None
    if wanted.reason in causes.by_head:
        if wanted.state == "held":
            return [], None, None
        return cut_heads(filter_heads(session, actor, queue, causes.by_head[wanted.reason], wanted), wanted)
    if wanted.is_everything and wanted.after is None:
        ids, _, next_front = cut_heads(list(queue.decisions), wanted)
        missing = wanted.limit - len(ids)
        if next_front is not None or missing == 0:
            return ids, None if next_front else (-(1 << 62), 0), next_front
        more, following = read_page_by_position(session, actor, queue, causes, wanted, missing)
        return ids + more, following, None
    ids, following = read_page_by_position(session, actor, queue, causes, wanted, wanted.limit)
    return ids, following, None


def cut_heads(fronts: list[int], wanted: QueueFilters) -> tuple[list[int], None, int | None]:
    begin = fronts.index(wanted.after_head) + 1 if wanted.after_head in fronts else 0
    page = fronts[begin : begin + wanted.limit]
    is_more = len(fronts) > begin + len(page)
    return page, None, page[-1] if page and is_more else None


def filter_heads(
    session: Session, actor: Actor, queue: QueueSnapshot, fronts: list[int], wanted: QueueFilters
) -> list[int]:
    """Those of the wished workspace and person."""
    found = [
        job_id
        for job_id in fronts
        if wanted.workspace_id in (None, queue.placement.jobs[job_id].workspace_id)
    ]
    if wanted.user_id is None:
        return found
    mine = filter_ids_of_user(session, actor, found, wanted.user_id)
    return [job_id for job_id in found if job_id in mine]


def read_page_by_position(
    session: Session,
    actor: Actor,
    queue: QueueSnapshot,
    causes: ReasonFilters,
    wanted: QueueFilters,
    limit: int,
) -> tuple[list[int], QueueCursor | None]:
    """By place in the line; each of the queries is one search of an index."""
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
        base = base.where(Job.id.not_in(list(queue.decisions)))
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
