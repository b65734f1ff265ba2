"""Why jobs wait and what is known of their start, told at the moment in which somebody asks (Q4).

Page, REST and command show the same object. Rows keep only what kind of reason a job had, and since when.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import func, literal, select, tuple_
from sqlalchemy.orm import Session

from cluster.domain.advice import advise
from cluster.domain.forecast import FIRST, Expected, forecast
from cluster.domain.outlook import MOST_AHEAD, NOTHING_KNOWN, Outlook, counted_ahead
from cluster.domain.pauses import pause_of
from cluster.domain.placement import Decision, Placed
from cluster.domain.reasons import AheadInQueue, OnHold, Reason, SweepLimit
from cluster.domain.totals import range_from_totals
from cluster.domain.waiting import to_data
from cluster.kept import kept_property
from cluster.services.context import Cluster
from cluster.services.lines import JOBS, in_line
from cluster.services.obstacles import read_dataset_reasons
from cluster.services.placing import Board, read_board
from cluster.services.queue_totals import read_totals
from cluster.services.sweep_limits import read_room
from cluster.store.jobs import Job
from cluster.store.users import User


@dataclass(frozen=True)
class Standing:
    """`reason` None: its turn has come, and the scheduler is about to start it."""

    reason: Reason | None
    outlook: Outlook = NOTHING_KNOWN

    @property
    def code(self) -> str | None:
        return self.reason.code if self.reason else None

    @property
    def data(self) -> dict[str, Any]:
        return to_data(self.reason, self.outlook) if self.reason else {}


@dataclass(frozen=True)
class Queue:
    """One look at the queue: what placement says of the fronts, and what is known of the rest."""

    board: Board
    decisions: dict[int, Decision]
    expected: dict[int, Expected]
    line: int | None
    """The workspace of which the starts are played forward."""

    blocked: frozenset[int]
    """Fronts that something of their own keeps: who stands behind them may pass."""

    @kept_property
    def fronts(self) -> dict[int, int]:
        """The job that starts next, by workspace."""
        return self.first_of_each(job_id for job_id in self.decisions if job_id not in self.blocked)

    @kept_property
    def foremost(self) -> dict[int, int]:
        """The job that stands first, by workspace, whatever keeps it."""
        return self.first_of_each(self.decisions)

    def first_of_each(self, job_ids: Iterable[int]) -> dict[int, int]:
        found: dict[int, int] = {}
        for job_id in job_ids:
            found.setdefault(self.board.jobs[job_id].workspace_id, job_id)
        return found


def look(cluster: Cluster, session: Session, line: int | None = None) -> Queue:
    """`line`: the workspace of which starts are wanted for the first `FIRST` jobs."""
    board = read_board(cluster, session, line, FIRST if line is not None else 0)
    decisions = {decision.job_id: decision for decision in board.decisions}
    expected = forecast(board, line) if line is not None else {}
    blocked = frozenset(head.job_id for head in board.heads if head.blocked)
    return Queue(board, decisions, expected, line, blocked)


FEW_LINES = 4
AT_LEAST = 50


def look_at_all(cluster: Cluster, session: Session) -> Queue:
    """Everybody's queue. Where few lines are waited in, the starts of all of them are played forward."""
    queue = look(cluster, session)
    lines = {job.workspace_id for job in queue.board.jobs.values()}
    if not 0 < len(lines) <= FEW_LINES:
        return queue
    board = read_board(cluster, session, at_least=AT_LEAST)
    expected = {job_id: one for line in lines for job_id, one in forecast(board, line).items()}
    blocked = frozenset(head.job_id for head in board.heads if head.blocked)
    return Queue(board, {each.job_id: each for each in board.decisions}, expected, None, blocked)


def explain(cluster: Cluster, session: Session, queue: Queue, jobs: Sequence[Job]) -> dict[int, Standing]:
    """By job, of those that wait."""
    known = {job.id: standing for job in jobs if (standing := of_front(queue, job))}
    rest = [job for job in jobs if job.id not in known]
    obstacles = read_own_obstacles(session, queue, rest)
    holders = read_names(session, {job.held_by for job in rest if job.held_by})
    behind = [job for job in rest if job.held_at is None and job.id not in obstacles]
    known |= explain_hidden(cluster, session, queue, behind)
    ahead = count_ahead(session, [job.id for job in behind if job.id not in known])
    for job in [job for job in rest if job.id not in known]:
        if job.held_at is not None:
            known[job.id] = Standing(OnHold(holders.get(job.held_by, "…"), job.held_at))
        elif job.id in obstacles:
            known[job.id] = Standing(obstacles[job.id])
        else:
            known[job.id] = behind_others(cluster, session, queue, job, ahead[job.id])
    return known


def explain_hidden(
    cluster: Cluster, session: Session, queue: Queue, jobs: Sequence[Job]
) -> dict[int, Standing]:
    """Of lines of which only jobs were looked at that something of their own keeps: these are looked at deeper."""
    lines = {job.workspace_id for job in jobs} - queue.fronts.keys() - {queue.line}
    found: dict[int, Standing] = {}
    for line in sorted(lines):
        mine = [job for job in jobs if job.workspace_id == line]
        found |= explain(cluster, session, look(cluster, session, line), mine)
    return found


def of_front(queue: Queue, job: Job) -> Standing | None:
    """What placement itself has said; None of jobs that it did not look at, or only passed."""
    decision = queue.decisions.get(job.id)
    if decision is None or job.held_at is not None:
        return None
    if isinstance(decision, Placed):
        return Standing(None)
    if isinstance(decision.reason, AheadInQueue):
        return None
    outlook = decision.outlook
    if expected := queue.expected.get(job.id):
        outlook = expected.added_to(outlook)
    return Standing(decision.reason, outlook)


def behind_others(cluster: Cluster, session: Session, queue: Queue, job: Job, ahead: int) -> Standing:
    front = queue.fronts.get(job.workspace_id, queue.foremost.get(job.workspace_id, job.id))
    outlook = counted_ahead(Outlook(first_ahead=front), ahead)
    expected = queue.expected.get(job.id)
    if expected is None and queue.line == job.workspace_id and ahead >= FIRST:
        expected = expect_by_totals(session, queue, job, outlook.ahead, outlook.is_more_ahead)
    return Standing(AheadInQueue(outlook.ahead, front), expected.added_to(outlook) if expected else outlook)


def expect_by_totals(session: Session, queue: Queue, job: Job, ahead: int, is_more: bool) -> Expected | None:
    """The least that stands before it tells the earliest start, the most of it the latest."""
    totals = read_totals(session, job.workspace_id)
    running = [run for run in queue.board.running if run.workspace_id == job.workspace_id]
    limit = queue.board.quotas[job.workspace_id].limit
    whole = sum(total.count for total in totals)
    part = (
        [replace(total, count=max(1, round(total.count * ahead / whole))) for total in totals]
        if whole
        else []
    )
    least = range_from_totals(job.id, part, running, limit, queue.board.now)
    most = range_from_totals(job.id, totals if is_more else part, running, limit, queue.board.now)
    if least is None or most is None:
        return None
    return replace(least, latest_at=most.latest_at)


def with_advice(queue: Queue, job: Job, standing: Standing) -> Standing:
    """What would let it start now: asked for the one job that somebody looks at."""
    head = next((head for head in queue.board.heads if head.job_id == job.id), None)
    if head is None or standing.reason is None:
        return standing
    advice = advise(queue.board, head, float(job.grace_seconds))
    return replace(standing, outlook=advice.added_to(standing.outlook)) if advice else standing


def read_own_obstacles(session: Session, queue: Queue, jobs: Sequence[Job]) -> dict[int, Reason]:
    """Of jobs behind the fronts: a pause, their term, data, environment or sweep keeps them, whoever is ahead."""
    datasets = read_dataset_reasons(session, {job.dataset_id for job in jobs if job.dataset_id})
    room = read_room(session, {job.sweep_id for job in jobs if job.sweep_id})
    full = {sweep_id: SweepLimit(sweep_id, most) for sweep_id, (most, left) in room.items() if left == 0}
    obstacles = replace(queue.board.obstacles, datasets=datasets)
    found = {
        job.id: pause_of(job.waiting_code, job.waiting_data, queue.board.now)
        or obstacles.of(job.workspace_id, job.dataset_id)
        or full.get(job.sweep_id or 0)
        for job in jobs
    }
    return {job_id: reason for job_id, reason in found.items() if reason}


def count_ahead(session: Session, job_ids: Sequence[int]) -> dict[int, int]:
    """Jobs of the line before each, held ones left out; one more than MOST_AHEAD stands for more."""
    if not job_ids:
        return {}
    asked, before = JOBS.alias("asked"), JOBS.alias("before")
    line = (
        select(literal(1))
        .where(
            in_line(before),
            before.c.workspace_id == asked.c.workspace_id,
            tuple_(before.c.position, before.c.id) < tuple_(asked.c.position, asked.c.id),
        )
        .limit(MOST_AHEAD + 1)
        .correlate(asked)
        .subquery()
    )
    count = select(func.count()).select_from(line).scalar_subquery()
    query = select(asked.c.id, count).where(asked.c.id.in_(job_ids))
    return {job_id: number for job_id, number in session.execute(query)}  # noqa: C416


def read_names(session: Session, user_ids: set[int]) -> dict[int | None, str]:
    if not user_ids:
        return {}
    query = select(User.id, User.name).where(User.id.in_(user_ids))
    return {user_id: name for user_id, name in session.execute(query)}  # noqa: C416
