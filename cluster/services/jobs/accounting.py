"""Reports usage: of one job, and of each person and workspace in a month."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Row, Select, case, func, literal, select, union_all
from sqlalchemy.orm import Session

from cluster.domain.jobs import accounting
from cluster.domain.people.actor import Actor
from cluster.domain.states import JobState
from cluster.services.context import Cluster
from cluster.services.jobs.queries import load_job
from cluster.store.jobs import Attempt, Job
from cluster.store.nodes import Allocation
from cluster.store.sql.epoch_seconds import epoch_seconds
from cluster.store.users import User
from cluster.store.workspaces import Workspace


@dataclass(frozen=True)
class MonthlyUsage:
    """The usage of one person's jobs in one workspace in a month: seconds of units, seconds of CPU, bytes."""

    workspace_id: int
    workspace: str
    user_id: int
    user: str
    jobs: int
    """The number of jobs that held units in this month."""
    finished: int
    failed: int
    stopped: int
    booked_seconds: float
    used_seconds: float | None
    """Seconds of the month in which an attempt ended; None if nothing was measured."""
    cpu_seconds: float | None
    max_memory_bytes: int | None


@dataclass(frozen=True)
class JobUsage:
    """The usage of one job, from its submission until its end or now."""

    job: Job
    seconds_in_states: dict[JobState, float]
    booked_seconds: float
    """Units times seconds over all attempts."""


def read_job_usage(cluster: Cluster, actor: Actor, job_id: int) -> JobUsage:
    """Raises NotFound if the person may not see the job."""
    now = cluster.clock()
    with cluster.store.read() as session:
        job = load_job(session, actor, job_id)
    changes = [accounting.JobStateChange(event.at, JobState(event.state)) for event in job.events]
    changes = changes or [accounting.JobStateChange(job.submitted_at, job.state)]
    holdings = [
        accounting.UnitHolding(1, held.begun_at, held.ended_at)
        for attempt in job.attempts
        for held in attempt.allocations
    ]
    spent = accounting.seconds_in_states(changes, job.ended_at, now)
    return JobUsage(job, spent, accounting.unit_hours(holdings, now) * 3600)


def read_monthly_usage(
    cluster: Cluster, actor: Actor, month: accounting.CalendarMonth, workspace_id: int | None = None
) -> list[MonthlyUsage]:
    """Reads by workspace and name what the person may see: their own usage, that of managed workspaces, or all."""
    return select_visible_usage(cluster, actor, read_usage_of_everybody(cluster, month), workspace_id)


def read_usage_of_everybody(cluster: Cluster, month: accounting.CalendarMonth) -> list[MonthlyUsage]:
    """Reads the month by two queries with indexes: the allocations since it began, and the attempts that ended in it.
    Reading one person's part would cost the database as much as reading all.
    """
    zone, now = cluster.settings.zone, cluster.clock()
    begins, ends = month.starts_at(zone), month.ends_at(zone)
    with cluster.store.read() as session:
        held = {usage_key(row): row for row in session.execute(held_in_month(begins, ends, now))}
        ended = {usage_key(row): row for row in session.execute(ended_in_month(begins, ends))}
        names = read_workspace_and_user_names(session, {*held, *ended})
    lines = [build_monthly_usage(pair, names, held.get(pair), ended.get(pair)) for pair in {*held, *ended}]
    return sorted(lines, key=lambda line: (line.workspace, line.user))


def select_visible_usage(
    cluster: Cluster, actor: Actor, lines: list[MonthlyUsage], workspace_id: int | None = None
) -> list[MonthlyUsage]:
    """The lines that the person may see now, of one workspace if it is named."""
    managed: set[int] = set()
    if not actor.is_administrator:
        with cluster.store.read() as session:
            query = select(Workspace.id).where(Workspace.manager_id == actor.user_id)
            managed = set(session.scalars(query))
    return [
        line
        for line in lines
        if workspace_id in (None, line.workspace_id)
        and (actor.is_administrator or line.user_id == actor.user_id or line.workspace_id in managed)
    ]


def read_first_month(cluster: Cluster) -> accounting.CalendarMonth:
    """Returns the month in which units were held for the first time, or this month if they never were."""
    query = select(Allocation.begun_at).order_by(Allocation.id).limit(1)
    with cluster.store.read() as session:
        begun_at = session.scalar(query)
    return accounting.month_of(begun_at or cluster.clock(), cluster.settings.zone)


def usage_key(row: Row[Any]) -> tuple[int, int]:
    return row.workspace_id, row.user_id


def held_in_month(begins: datetime, ends: datetime, now: datetime) -> Select[*tuple[Any, ...]]:
    """Unit seconds of allocations within the month; a live allocation counts up to now."""
    columns = (Allocation.attempt_id, Allocation.begun_at, Allocation.ended_at)
    over = select(*columns).where(Allocation.ended_at > begins, Allocation.begun_at < ends)
    living = select(*columns).where(Allocation.ended_at.is_(None), Allocation.begun_at < ends)
    held = union_all(over, living).subquery()
    moment = Allocation.begun_at.type
    last = literal(min(now, ends), moment)
    ended = func.coalesce(held.c.ended_at, last)
    until = case((ended > last, last), else_=ended)
    since = case((held.c.begun_at < begins, literal(begins, moment)), else_=held.c.begun_at)
    # An attempt may hold several units, and its job is read once for all of them.
    booked = func.sum(epoch_seconds(until) - epoch_seconds(since)).label("booked")
    by_attempt = select(held.c.attempt_id, booked).group_by(held.c.attempt_id).subquery()
    return (
        select(
            Job.workspace_id,
            Job.user_id,
            func.count(Job.id.distinct()).label("jobs"),
            func.sum(by_attempt.c.booked).label("booked"),
        )
        .select_from(by_attempt)
        .join(Attempt, Attempt.id == by_attempt.c.attempt_id)
        .join(Job, Job.id == Attempt.job_id)
        .group_by(Job.workspace_id, Job.user_id)
    )


def ended_in_month(begins: datetime, ends: datetime) -> Select[*tuple[Any, ...]]:
    """Selects the usage of attempts that ended in the month, and how many jobs ended with them."""

    def ended_as(state: JobState) -> ColumnElement[int]:
        last = (Attempt.number == Job.fence) & (Job.state == state)
        return func.sum(case((last, 1), else_=0)).label(state.value)

    return (
        select(
            Job.workspace_id,
            Job.user_id,
            func.sum(Attempt.cpu_seconds).label("cpu"),
            func.sum(Attempt.unit_seconds_used).label("used"),
            func.max(Attempt.max_memory_bytes).label("memory"),
            *(ended_as(state) for state in (JobState.FINISHED, JobState.FAILED, JobState.STOPPED)),
        )
        .join(Job, Job.id == Attempt.job_id)
        .where(Attempt.ended_at >= begins, Attempt.ended_at < ends)
        .group_by(Job.workspace_id, Job.user_id)
    )


def read_workspace_and_user_names(
    session: Session, pairs: set[tuple[int, int]]
) -> tuple[dict[int, str], dict[int, str]]:
    """(workspaces, users) by id."""
    workspaces = select(Workspace.id, Workspace.name).where(Workspace.id.in_({ws for ws, _ in pairs}))
    users = select(User.id, User.name).where(User.id.in_({user for _, user in pairs}))
    return (
        {row[0]: row[1] for row in session.execute(workspaces)},
        {row[0]: row[1] for row in session.execute(users)},
    )


def build_monthly_usage(
    pair: tuple[int, int],
    names: tuple[dict[int, str], dict[int, str]],
    held: Row[Any] | None,
    ended: Row[Any] | None,
) -> MonthlyUsage:
    workspace_id, user_id = pair
    return MonthlyUsage(
        workspace_id,
        names[0][workspace_id],
        user_id,
        names[1][user_id],
        held.jobs if held else 0,
        ended.finished if ended else 0,
        ended.failed if ended else 0,
        ended.stopped if ended else 0,
        max(0.0, float(held.booked)) if held else 0.0,
        ended.used if ended else None,
        ended.cpu if ended else None,
        ended.memory if ended else None,
    )
