"""Many rows at once, written by the database itself: a queue of 100,000 waiting jobs takes seconds."""

from collections.abc import Sequence
from contextlib import closing
from typing import Any

from sqlalchemy import ColumnElement, Select, Table, delete, func, insert, literal, select, text, update
from sqlalchemy import cast as sql_cast
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.functions import FunctionElement

from cluster.domain.states import LIVE_JOB_STATES, DesiredState, JobState, Launcher, TrainingKind, Visibility
from cluster.services.context import Cluster
from cluster.store.engine import Store
from cluster.store.jobs import Job, JobEvent, job_shape
from cluster.store.leases import IdempotentAnswer
from cluster.store.queue import QueueExplanation
from cluster.store.tables import metadata
from cluster.store.trainings import Training
from cluster.store.users import User
from tests.builders import a_workspace, first_positions
from tests.databases import owner_url

NAME = "filled"
CHUNK = 5_000


def a_line_of_workspaces(cluster: Cluster, manager: User, count: int) -> list[int]:
    """The ids of one training in each of `count` new workspaces of one unit."""
    rows = [
        Training(
            workspace_id=a_workspace(cluster, manager, units=1, name=f"elsewhere-{number}").id,
            name="other",
            kind=TrainingKind.ADVANCED,
            visibility=Visibility.PUBLIC,
            owner_id=manager.id,
            created_at=cluster.clock(),
        )
        for number in range(count)
    ]
    with cluster.store.write() as session:
        session.add_all(rows)
    return [row.id for row in rows]


def fill(
    cluster: Cluster,
    training_ids: Sequence[int],
    count: int,
    units: int = 2,
    command: Sequence[str] = ("sh", "stamp.sh"),
) -> None:
    """`count` more waiting jobs, dealt out to the trainings in turn, each with the first line of its history.

    With more units than their workspace holds they wait for ever: for quota, while others may run.
    """
    if count == 0:
        return
    first, last = min(training_ids), max(training_ids)
    assert last - first + 1 == len(training_ids), "trainings without a gap between their ids"
    now = cluster.clock()
    turn = numbers(count)
    training = (turn.c.n % len(training_ids) + first).label("training")
    values: dict[Any, ColumnElement[Any]] = {
        Job.workspace_id: Training.workspace_id,
        Job.training_id: Training.id,
        Job.user_id: Training.owner_id,
        Job.name: literal(NAME),
        Job.state: typed(JobState.WAITING, Job.state),
        Job.desired: typed(DesiredState.RUN, Job.desired),
        Job.fence: literal(0),
        Job.units: literal(units),
        Job.shape: literal(job_shape(units, None, None, None)),
        Job.launcher: typed(Launcher.PLAIN, Job.launcher),
        Job.command: typed(list(command), Job.command),
        Job.variables: typed({}, Job.variables),
        Job.code_version: literal(1),
        Job.priority: literal(0),
        Job.position: literal(0),
        Job.submitted_at: typed(now, Job.submitted_at),
    }
    source = select(*values.values()).join_from(turn, Training, Training.id == training).order_by(turn.c.n)
    with cluster.store.write() as session:
        session.execute(insert(Job).from_select(list(values), source, include_defaults=False))
        mine = (Job.name == NAME, Job.position == 0)
        session.execute(update(Job).where(*mine).values(position=first_positions()))
        session.execute(insert(JobEvent).from_select(*first_lines()))
    gather_statistics(cluster)


def numbers(count: int) -> Any:
    """A table of 1 to `count`."""
    one = select(literal(1).label("n")).cte("numbers", recursive=True)
    return one.union_all(select(one.c.n + 1).where(one.c.n < count))


class typed(FunctionElement[Any]):
    """A value as the column writes it. PostgreSQL wants to be told what it is, SQLite would make numbers of it."""

    inherit_cache = False

    def __init__(self, value: Any, column: Any) -> None:
        super().__init__(literal(value, column.type))
        self.type = column.type


@compiles(typed)
def write_typed(element: typed, compiler: Any, **options: Any) -> str:
    (value,) = element.clauses
    return str(compiler.process(sql_cast(value, element.type), **options))


@compiles(typed, "sqlite")
def write_plain(element: typed, compiler: Any, **options: Any) -> str:
    (value,) = element.clauses
    return str(compiler.process(value, **options))


def first_lines() -> tuple[list[Any], Select[Any]]:
    columns = [JobEvent.job_id, JobEvent.at, JobEvent.state, JobEvent.code, JobEvent.data]
    known = select(JobEvent.job_id)
    source = select(
        Job.id,
        Job.submitted_at,
        literal("waiting"),
        literal("job.submitted"),
        typed({}, JobEvent.data),
    ).where(Job.state == JobState.WAITING, Job.id.not_in(known))
    return columns, source


def gather_statistics(cluster: Cluster) -> None:
    """What the database's own housekeeping would do within a minute."""
    statement = "ANALYZE" if cluster.store.is_sqlite else "VACUUM ANALYZE"
    with closing(Store(owner_url(cluster.store.address))) as owner, owner.engine.connect() as connection:
        connection.execution_options(isolation_level="AUTOCOMMIT").execute(text(statement))


def clear(cluster: Cluster) -> None:
    """No job, attempt or history is left; nothing may run."""
    tables = tables_of_jobs()
    with closing(Store(owner_url(cluster.store.address))) as owner, owner.write() as session:
        if cluster.store.is_sqlite:
            for table in tables:
                session.execute(delete(table))
        else:
            session.execute(text(f"TRUNCATE {', '.join(table.name for table in tables)}"))
    gather_statistics(cluster)


def tables_of_jobs() -> list[Table]:
    """Jobs, sweeps, what refers to them, and answers kept for repeated requests, in an order that can be deleted."""
    found = {"jobs", "sweeps", IdempotentAnswer.__tablename__}
    for table in metadata.sorted_tables:
        if any(key.column.table.name in found for key in table.foreign_keys):
            found.add(table.name)
    return [table for table in reversed(metadata.sorted_tables) if table.name in found]


def forget_waiting(cluster: Cluster, training_id: int) -> None:
    """What was submitted to one training and has not begun."""
    mine = select(Job.id).where(Job.training_id == training_id, Job.state == JobState.WAITING)
    with cluster.store.write() as session:
        ids = list(session.scalars(mine))
        columns: dict[Any, Any] = {
            QueueExplanation: QueueExplanation.job_id,
            IdempotentAnswer: IdempotentAnswer.object_id,
            JobEvent: JobEvent.job_id,
            Job: Job.id,
        }
        for table, column in columns.items():
            for start in range(0, len(ids), CHUNK):
                some = ids[start : start + CHUNK]
                session.execute(
                    delete(table).where(column.in_(some)), execution_options={"synchronize_session": False}
                )
    gather_statistics(cluster)


def count_living(cluster: Cluster) -> int:
    """Jobs that have not ended."""
    query = select(func.count(Job.id)).where(Job.state.in_(LIVE_JOB_STATES))
    with cluster.store.read() as session:
        return session.scalar(query) or 0


def count_in(cluster: Cluster, state: JobState) -> int:
    with cluster.store.read() as session:
        return session.scalar(select(func.count(Job.id)).where(Job.state == state)) or 0
