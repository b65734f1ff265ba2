"""Reads for how long units were held and used on each of the last days: those of a workspace, or of a node."""

from dataclasses import dataclass
from datetime import date
from itertools import pairwise
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Float,
    Integer,
    Select,
    Subquery,
    bindparam,
    case,
    func,
    select,
    union_all,
)

from cluster.domain.jobs.accounting import last_days
from cluster.services.context import Cluster
from cluster.store.jobs import IS_LIVE, Attempt, Job
from cluster.store.nodes import Allocation, Unit
from cluster.store.sql.epoch_seconds import epoch_seconds

DAYS_SHOWN = 14


@dataclass(frozen=True)
class DailyUsage:
    """Seconds of units on one day of the installation's time zone.

    `used_seconds` is what attempts that have ended worked, spread evenly over the time of each attempt.
    """

    day: date
    held_seconds: float
    used_seconds: float


def read_workspace_days(cluster: Cluster, workspace_id: int) -> tuple[DailyUsage, ...]:
    """The last days of a workspace, today last."""
    return read_days(cluster, WORKSPACE_DAYS, workspace_id)


def read_node_days(cluster: Cluster, node_id: int) -> tuple[DailyUsage, ...]:
    """The last days of a node, today last. Of a gang it counts the units on this node."""
    return read_days(cluster, NODE_DAYS, node_id)


def read_days(cluster: Cluster, sums: Select[*tuple[Any, ...]], owner_id: int) -> tuple[DailyUsage, ...]:
    """Reads one row: the database computes the sums, because a busy workspace has thousands of attempts."""
    now = cluster.clock()
    days = last_days(DAYS_SHOWN, now, cluster.settings.zone)
    begins = days[0].starts_at
    bounds = {
        f"end{place}": (day.ends_at - begins).total_seconds() for place, day in enumerate(days, start=1)
    }
    with cluster.store.read_columns() as connection:
        row = connection.execute(
            sums, {"owner": owner_id, "begins": begins, "now": now, "end0": 0.0} | bounds
        ).one()
    return tuple(
        DailyUsage(day.day, max(0.0, row[2 * place] or 0.0), max(0.0, row[2 * place + 1] or 0.0))
        for place, day in enumerate(days)
    )


def held_seconds(is_counted: ColumnElement[bool]) -> Subquery:
    """Attempts with their counted units, and since when and until when they held them, in seconds after `begins`.

    `rate` is the work of one of its units in a second: 0 to 1, NULL while it is not known.
    """
    columns = Allocation.attempt_id, Allocation.begun_at, Allocation.ended_at
    # There are two statements, each with an index, because one statement with "or" would read all attempts.
    held = union_all(
        select(*columns).where(Allocation.ended_at > BEGINS, is_counted),
        select(*columns).where(Allocation.ended_at.is_(None), is_counted),
    ).subquery()
    first = epoch_seconds(BEGINS)
    until = epoch_seconds(func.coalesce(held.c.ended_at, NOW)) - first
    by_attempt = (
        select(
            held.c.attempt_id,
            func.count().label("units"),
            func.min(epoch_seconds(held.c.begun_at) - first).label("since"),
            func.max(until).label("until"),
        )
        .group_by(held.c.attempt_id)
        .subquery()
    )
    ran = by_attempt.c.until - by_attempt.c.since
    return (
        select(
            by_attempt.c.units,
            by_attempt.c.since,
            by_attempt.c.until,
            case((ran > 0, Attempt.unit_seconds_used / (Job.units * ran))).label("rate"),
        )
        .join(Attempt, Attempt.id == by_attempt.c.attempt_id)
        .join(Job, Job.id == Attempt.job_id)
        .subquery()
    )


def day_sums(held: Subquery) -> Select[*tuple[Any, ...]]:
    """Selects two columns a day: the seconds held, and those used."""
    columns: list[ColumnElement[Any]] = []
    bounds = [bindparam(f"end{place}", type_=Float) for place in range(DAYS_SHOWN + 1)]
    for begins, ends in pairwise(bounds):
        seconds = overlap_with(held, begins, ends) * held.c.units
        columns += [func.sum(seconds), func.sum(seconds * held.c.rate)]
    return select(*columns)


def overlap_with(
    held: Subquery, begins: ColumnElement[float], ends: ColumnElement[float]
) -> ColumnElement[float]:
    """Seconds between `begins` and `ends` in which an attempt held its units."""
    since = case((held.c.since > begins, held.c.since), else_=begins)
    until = case((held.c.until < ends, held.c.until), else_=ends)
    return case((until > since, until - since), else_=0.0)


BEGINS = bindparam("begins", type_=Allocation.begun_at.type)
NOW = bindparam("now", type_=Allocation.begun_at.type)
OWNER = bindparam("owner", type_=Integer)


def attempts_of_workspace() -> Select[int]:
    """Attempts of the jobs that ended after `begins`, and of those that have not ended."""
    own = Job.workspace_id == OWNER
    jobs = union_all(select(Job.id).where(own, Job.ended_at > BEGINS), select(Job.id).where(own, IS_LIVE))
    return select(Attempt.id).where(Attempt.job_id.in_(select(jobs.subquery().c.id)))


WORKSPACE_DAYS = day_sums(held_seconds(Allocation.attempt_id.in_(attempts_of_workspace())))
NODE_DAYS = day_sums(held_seconds(Allocation.unit_id.in_(select(Unit.id).where(Unit.node_id == OWNER))))
"""The statement is long, so it is built once and not for each page."""
