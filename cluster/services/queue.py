"""The queue as people see it: who waits in the true order and why, who runs and until when."""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Select, select, tuple_
from sqlalchemy.orm import Session, joinedload

from cluster.domain.people import Actor
from cluster.domain.placement import NodeUnits
from cluster.services.context import Cluster
from cluster.services.jobs import LOADS
from cluster.services.lines import WAITING
from cluster.services.queue_counts import Causes, ReasonCount, count_reasons, read_causes
from cluster.services.standing import Queue, Standing, explain, look, look_at_all, with_advice
from cluster.store.jobs import IS_LIVING, Attempt, Job
from cluster.store.users import User
from cluster.store.visibility import sees_job
from cluster.store.workspaces import Workspace

RUNNING_SHOWN = 25
NAMES = (
    joinedload(Job.user).load_only(User.id, User.name),
    joinedload(Job.workspace).load_only(Workspace.id, Workspace.name),
)
"""What a line of the queue says of a job besides its own row."""
Place = tuple[int, int]
"""Position and id of the last job of a page: the next page begins behind it."""


@dataclass(frozen=True)
class Wanted:
    """Filters of the queue page; `after` and `after_front` say where its page begins."""

    workspace_id: int | None = None
    user_id: int | None = None
    reason: str | None = None
    after: Place | None = None
    after_front: int | None = None
    """Pages of everybody's queue begin with the fronts of all lines, in the order of their turns."""
    limit: int = 50

    @property
    def is_everything(self) -> bool:
        return self.workspace_id is None and self.user_id is None and self.reason is None


@dataclass(frozen=True)
class WaitingJob:
    """`job` is None where the reader may not see it: it still stands in the line."""

    id: int
    job: Job | None
    units: int
    standing: Standing


@dataclass(frozen=True)
class RunningJob:
    """`part` of its way is done, 0 to 1, as it says itself; None where it does not."""

    job: Job | None
    units: int
    nodes: tuple[str, ...]
    started_at: datetime | None
    ends_at: datetime | None
    part: float | None = None


@dataclass(frozen=True)
class QueueView:
    waiting: list[WaitingJob]
    next_after: Place | None
    next_after_front: int | None
    reasons: list[ReasonCount]
    running: list[RunningJob]
    more_running: bool
    nodes: list[NodeUnits]


def read_queue(
    cluster: Cluster, actor: Actor, wanted: Wanted | None = None, opened: int | None = None
) -> QueueView:
    """One page of what waits, and what runs; foreign jobs keep their place and size, nothing else.

    Advice is asked for the one job that is `opened`.
    """
    wanted = wanted or Wanted()
    with cluster.store.read() as session:
        whole = wanted.workspace_id is None
        queue = look_at_all(cluster, session) if whole else look(cluster, session, wanted.workspace_id)
        causes = read_causes(session, queue)
        ids, next_after, next_front = read_page(session, queue, causes, wanted)
        rows, seen = read_rows(session, actor, ids, opened)
        standings = explain(cluster, session, queue, list(rows.values()))
        if opened in standings:
            standings[opened] = with_advice(queue, rows[opened], standings[opened])
        running, more = read_runs(session, actor, queue, wanted)
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
            more,
            list(queue.board.nodes),
        )


def read_standing(cluster: Cluster, job: Job) -> tuple[Standing, list[NodeUnits]]:
    """Of one waiting job, with its expected start and what would help; and the nodes as they are."""
    with cluster.store.read() as session:
        queue = look(cluster, session, job.workspace_id)
        known = explain(cluster, session, queue, [job])
        return with_advice(queue, job, known[job.id]), list(queue.board.nodes)


def read_standings(cluster: Cluster, jobs: list[Job]) -> dict[int, Standing]:
    """Of the waiting ones among these jobs, for lists: without expected starts."""
    waiting = [job for job in jobs if job.state.value == "waiting"]
    if not waiting:
        return {}
    with cluster.store.read() as session:
        return explain(cluster, session, look(cluster, session), waiting)


def read_counts(cluster: Cluster) -> tuple[list[ReasonCount], datetime | None]:
    """How often each reason, and when the job that waits longest was submitted."""
    with cluster.store.read() as session:
        queue = look(cluster, session)
        counts = count_reasons(session, queue, read_causes(session, queue), None)
        oldest = select(Job.submitted_at).where(IS_LIVING, Job.state == WAITING).order_by(Job.id).limit(1)
        return counts, session.scalar(oldest)


def read_page(
    session: Session, queue: Queue, causes: Causes, wanted: Wanted
) -> tuple[list[int], Place | None, int | None]:
    """The ids of one page; where the next one begins: behind a place, or behind a front."""
    if wanted.reason in causes.by_front:
        fronts = [job_id for job_id in causes.by_front[wanted.reason] if fits(queue, job_id, wanted)]
        return cut_fronts(fronts, wanted)
    if wanted.is_everything and wanted.after is None:
        ids, _, next_front = cut_fronts(list(queue.decisions), wanted)
        missing = wanted.limit - len(ids)
        if next_front is not None or missing == 0:
            return ids, None if next_front else (-(1 << 62), 0), next_front
        more, following = read_places(session, queue, causes, wanted, missing)
        return ids + more, following, None
    ids, following = read_places(session, queue, causes, wanted, wanted.limit)
    return ids, following, None


def cut_fronts(fronts: list[int], wanted: Wanted) -> tuple[list[int], None, int | None]:
    begin = fronts.index(wanted.after_front) + 1 if wanted.after_front in fronts else 0
    page = fronts[begin : begin + wanted.limit]
    is_more = len(fronts) > begin + len(page)
    return page, None, page[-1] if page and is_more else None


def fits(queue: Queue, job_id: int, wanted: Wanted) -> bool:
    return wanted.workspace_id in (None, queue.board.jobs[job_id].workspace_id)


def read_places(
    session: Session, queue: Queue, causes: Causes, wanted: Wanted, limit: int
) -> tuple[list[int], Place | None]:
    """By place in the line; each of the queries is one search of an index."""
    base = select(Job.position, Job.id).where(Job.state == WAITING)
    if wanted.after is not None:
        base = base.where(tuple_(Job.position, Job.id) > tuple_(*wanted.after))
    if wanted.user_id is not None:
        base = base.where(Job.user_id == wanted.user_id)
    if wanted.workspace_id is not None:
        base = base.where(Job.workspace_id == wanted.workspace_id)
    if wanted.reason is not None:
        base = base.where(causes.condition(wanted.reason))
    if wanted.is_everything:
        base = base.where(Job.id.not_in(list(queue.decisions)))
    base = base.order_by(Job.position, Job.id).limit(limit + 1)
    found = sorted(place for query in by_index(base, wanted) for place in session.execute(query))
    page = found[:limit]
    following = (page[-1][0], page[-1][1]) if len(found) > limit else None
    return [place[1] for place in page], following


def by_index(base: Select[int, int], wanted: Wanted) -> list[Select[int, int]]:
    """A workspace's line and its held jobs have an index each."""
    if wanted.workspace_id is None or wanted.user_id is not None:
        return [base]
    return [base.where(Job.held_at.is_(None)), base.where(Job.held_at.is_not(None))]


def read_rows(
    session: Session, actor: Actor, ids: list[int], opened: int | None
) -> tuple[dict[int, Job], dict[int, Job]]:
    """All of them, and those that the person may see, with their user and workspace; `opened` with everything."""
    query = select(Job, sees_job(actor).label("seen")).where(Job.id.in_(ids)).options(*NAMES)
    rows, seen = {}, {}
    for job, is_seen in session.execute(query):
        rows[job.id] = job
        if is_seen:
            seen[job.id] = job
    if opened in seen:
        whole = select(Job).where(Job.id == opened).options(*LOADS)
        session.scalars(whole.execution_options(populate_existing=True)).all()
    return rows, seen


def read_runs(session: Session, actor: Actor, queue: Queue, wanted: Wanted) -> tuple[list[RunningJob], bool]:
    """The soonest known ends first; whether there are more than are shown."""
    ends = {run.job_id: run.ends_at for run in queue.board.running}
    units: dict[int, int] = {}
    for run in queue.board.running:
        if wanted.workspace_id in (None, run.workspace_id):
            units[run.job_id] = units.get(run.job_id, 0) + run.units
    order = sorted(units, key=lambda job_id: (ends[job_id] is None, ends[job_id] or queue.board.now, job_id))
    shown = order[:RUNNING_SHOWN]
    names: dict[int, list[str]] = {job_id: [] for job_id in shown}
    by_id = {node.node_id: node.name for node in queue.board.nodes}
    for run in queue.board.running:
        if run.job_id in names:
            names[run.job_id].append(by_id[run.node_id])
    _rows, seen = read_rows(session, actor, shown, None)
    told = select(Attempt.job_id, Attempt.started_at, Attempt.progress).where(
        Attempt.job_id.in_(shown), Attempt.ended_at.is_(None)
    )
    begun = {row.job_id: row for row in session.execute(told)}
    # On PostgreSQL each statement sees its own moment: by now one may have ended.
    return [
        RunningJob(
            seen.get(job_id),
            units[job_id],
            tuple(names[job_id]),
            begun[job_id].started_at,
            ends[job_id],
            begun[job_id].progress,
        )
        for job_id in shown
        if job_id in begun
    ], len(order) > len(shown)
