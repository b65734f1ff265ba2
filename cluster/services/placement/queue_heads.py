"""Reads the heads of the workspaces' queues by index alone; the jobs behind them are never read."""

from collections.abc import Callable, Collection
from datetime import datetime
from functools import cache
from typing import Any, NamedTuple

from sqlalchemy import (
    ARRAY,
    ColumnElement,
    FromClause,
    Integer,
    Select,
    any_,
    bindparam,
    literal_column,
    select,
    true,
)
from sqlalchemy.orm import Session

from cluster.domain.states import JobState
from cluster.store.jobs import Job
from cluster.store.workspaces import Workspace

WAITING_STATE: ColumnElement[JobState] = literal_column("'waiting'")
"""The state is a literal in the statement, because neither database uses the partial indexes for a parameter."""
FINISHED_STATE: ColumnElement[JobState] = literal_column("'finished'")
JOBS = Job.__table__
WORKSPACES = Workspace.__table__
Query = Select[*tuple[Any, ...]]


class QueuedJobRow(NamedTuple):
    """The columns of a queued job that placement needs."""

    id: int
    workspace_id: int
    units: int
    priority: int
    position: int
    shape: str
    dataset_id: int | None
    sweep_id: int | None
    fence: int
    time_limit_seconds: int | None
    grace_seconds: int
    submitted_at: datetime
    training_id: int
    waiting_code: str | None
    environment_id: int | None


def is_queued(jobs: FromClause) -> ColumnElement[bool]:
    """The condition of the indexes `ix_jobs_line` and `ix_jobs_shapes`: the job waits and is not held."""
    return (jobs.c.state == WAITING_STATE) & jobs.c.held_at.is_(None)


def read_queue_heads(
    session: Session, each: int, workspace_ids: Collection[int] | None = None
) -> list[QueuedJobRow]:
    """The first `each` jobs of every workspace's queue, or of the queues of `workspace_ids`."""
    dialect = dialect_of(session)
    if workspace_ids is None:
        return fetch_rows(session, heads_query(dialect), each=each)
    return fetch_rows(session, some_heads_query(dialect), each=each, workspaces=list(workspace_ids))


def read_workspace_queue(session: Session, workspace_id: int, first: int) -> list[QueuedJobRow]:
    """Reads at most `first` jobs from the head of one workspace's queue."""
    return fetch_rows(session, workspace_queue_query(), workspace=workspace_id, first=first)


def read_heads_by_shape(
    session: Session, workspace_ids: Collection[int], each: int, largest: int, most: int, smallest: int = 1
) -> list[QueuedJobRow]:
    """The first `each` jobs of every shape that needs `smallest` to `largest` units, for at most `most` shapes.

    Jobs behind a queue head that waits for its dataset or for more units may be able to start now.
    """
    query, ids = shapes_query(dialect_of(session)), list(workspace_ids)
    ends = {"begin": shape_above(smallest - 1), "above": shape_above(largest)}
    return fetch_rows(session, query, each=each, most=most, workspaces=ids, **ends)


def fetch_rows(session: Session, query: Query, **values: object) -> list[QueuedJobRow]:
    return [QueuedJobRow._make(row) for row in session.execute(query, values).all()]


def shape_above(units: int) -> str:
    """Shapes begin with their units in five digits: all that need at most `units` sort below this."""
    return f"{units + 1:05}"


def dialect_of(session: Session) -> str:
    return session.get_bind().dialect.name


@cache
def heads_query(dialect: str) -> Query:
    return first_of_each(WORKSPACES, dialect, lambda jobs: jobs.c.workspace_id == WORKSPACES.c.id)


@cache
def some_heads_query(dialect: str) -> Query:
    return heads_query(dialect).where(is_among(WORKSPACES.c.id, "workspaces", dialect))


def is_among(column: ColumnElement[int], name: str, dialect: str) -> ColumnElement[bool]:
    """A condition: the column has one of the numbers in parameter `name`. PostgreSQL sees the same statement for any
    count of numbers.
    """
    if dialect == "postgresql":
        return column == any_(bindparam(name, type_=ARRAY(Integer)))
    return column.in_(bindparam(name, expanding=True))


@cache
def workspace_queue_query() -> Query:
    mine = is_queued(JOBS) & (JOBS.c.workspace_id == bindparam("workspace"))
    return (
        select(*queued_job_columns(JOBS))
        .where(mine)
        .order_by(JOBS.c.position, JOBS.c.id)
        .limit(bindparam("first"))
    )


@cache
def shapes_query(dialect: str) -> Query:
    """Steps from one shape to the next by the index, then takes the first jobs of each."""
    first, other = JOBS.alias("first"), JOBS.alias("other")
    least = select(first.c.shape).where(
        is_queued(first), first.c.workspace_id == WORKSPACES.c.id, first.c.shape >= bindparam("begin")
    )
    shapes = (
        select(WORKSPACES.c.id, least.order_by(first.c.shape).limit(1).scalar_subquery().label("shape"))
        .where(is_among(WORKSPACES.c.id, "workspaces", dialect))
        .cte("shapes", recursive=True)
    )
    following = select(other.c.shape).where(
        is_queued(other), other.c.workspace_id == shapes.c.id, other.c.shape > shapes.c.shape
    )
    step = select(shapes.c.id, following.order_by(other.c.shape).limit(1).scalar_subquery())
    shapes = shapes.union_all(step.where(shapes.c.shape < bindparam("above")))
    fitting = select(shapes).where(shapes.c.shape < bindparam("above")).limit(bindparam("most"))
    fits = fitting.subquery("fitting")
    return first_of_each(
        fits, dialect, lambda jobs: (jobs.c.workspace_id == fits.c.id) & (jobs.c.shape == fits.c.shape)
    )


def first_of_each(
    groups: FromClause, dialect: str, of_group: Callable[[FromClause], ColumnElement[bool]]
) -> Query:
    """The first `:each` jobs of every group, by one index search per group.

    SQLite needs a subquery and PostgreSQL a lateral join; with a plain join both would read the whole table.
    """
    near = JOBS.alias("near")
    wanted = select(near.c.id).where(is_queued(near), of_group(near))
    wanted = wanted.order_by(near.c.position, near.c.id).limit(bindparam("each"))
    if dialect == "sqlite":
        return select(*queued_job_columns(JOBS)).join_from(groups, JOBS, JOBS.c.id.in_(wanted))
    found = wanted.with_only_columns(*queued_job_columns(near)).lateral("found")
    return select(found).join_from(groups, found, true())


def queued_job_columns(jobs: FromClause) -> tuple[ColumnElement[Any], ...]:
    """The columns of the fields of `QueuedJobRow`."""
    plain = (
        "id", "workspace_id", "units", "priority", "position", "shape", "dataset_id", "sweep_id", "fence",
        "time_limit_seconds", "grace_seconds", "submitted_at", "training_id", "waiting_code",
        "environment_id",
    )  # fmt: skip
    return tuple(jobs.c[name] for name in plain)
