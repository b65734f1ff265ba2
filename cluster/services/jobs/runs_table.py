"""The runs table: jobs that match filters and a search, in one of several orders, page by page."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Row, Select, String, func, or_, select, tuple_, type_coerce
from sqlalchemy.orm import InstrumentedAttribute

from cluster.domain.jobs.parameters import job_parameters
from cluster.domain.people.actor import Actor
from cluster.domain.states import JobState
from cluster.services.context import Cluster
from cluster.services.jobs.queries import (
    JobLine,
    JobRecord,
    page_of_job_ids,
    select_job_lines,
    select_job_records,
)
from cluster.store.jobs import Job, JobTag
from cluster.store.sql.reader_statement import ReaderStatement, id_parameter
from cluster.store.sql.visibility import can_see_job
from cluster.store.trainings import Training
from cluster.store.users import User

SEARCHED_JOBS = 50_000
"""The number of newest jobs that a search examines, because no index finds a part of a name."""
JOB_NUMBER = re.compile(r"(?:job-)?([0-9]{1,9})")


class JobOrder(StrEnum):
    """The orders of the table. Each has an index for all jobs and one for those of a workspace."""

    NEWEST = "newest"
    OLDEST = "oldest"
    BEST = "best"
    """Jobs with the best headline metric come first; jobs without one are left out."""
    WORST = "worst"
    ENDED = "ended"
    """The jobs that ended last come first; jobs that have not ended are left out."""


@dataclass(frozen=True)
class JobFilter:
    """The filter of the table. If it is empty, every job that the person may see fits."""

    states: Sequence[JobState] = ()
    of: Mapping[str, int | None] = field(default_factory=dict)
    """Columns of a job with the values that are wanted."""
    tag: str = ""
    metric: str = ""
    """The headline metric."""
    search: str = ""
    """A part of the name, of the training's name or of the note; a whole tag or person's name; or the job's number."""


class ListedRun(NamedTuple):
    job: JobLine
    parameters: dict[str, str]


def list_runs(
    cluster: Cluster,
    actor: Actor,
    wanted: JobFilter,
    order: JobOrder = JobOrder.NEWEST,
    after_id: int | None = None,
    limit: int = 50,
) -> list[ListedRun]:
    """Lists one keyset page: the jobs after the job `after_id` in this order."""
    rows = read_rows(cluster, RUN_LINES, actor, wanted, order, after_id, limit)
    return [ListedRun(JobLine(*line), job_parameters(values, command)) for *line, values, command in rows]


def list_run_records(
    cluster: Cluster, actor: Actor, wanted: JobFilter, order: JobOrder, after_id: int | None, limit: int
) -> list[JobRecord]:
    """Lists the same jobs as `list_runs` with the fields of the REST answer."""
    rows = read_rows(cluster, RUN_RECORDS, actor, wanted, order, after_id, limit)
    return [JobRecord(*row) for row in rows]


def read_rows(
    cluster: Cluster,
    columns: "RunColumns",
    actor: Actor,
    wanted: JobFilter,
    order: JobOrder,
    after_id: int | None,
    limit: int,
) -> Sequence[Row[*tuple[Any, ...]]]:
    """Reads one page. The statement of a plain list is cached; a search, a tag or a metric needs a statement of its
    own.
    """
    with cluster.store.read_columns() as connection:
        if wanted.tag or wanted.metric or wanted.search:
            query = columns.of_page(page_of_runs(actor, wanted, order, after_id).limit(limit), order)
            return connection.execute(query).all()
        of = {name: key for name, key in wanted.of.items() if key is not None}
        shape = tuple(wanted.states), tuple(of), order, after_id is not None
        values = {"after_id": after_id, "length": limit, **of}
        return columns.plain.execute(connection, actor, *shape, **values).all()


class RunColumns:
    """Columns of runs in lists. The statement of a plain list is built once for its filters and its order."""

    def __init__(self, select_columns: Callable[[], Select[*tuple[Any, ...]]]) -> None:
        self.select_columns = select_columns
        self.plain = ReaderStatement(self.build)

    def build(
        self,
        reader: Actor,
        states: Sequence[JobState],
        of: Sequence[str],
        order: JobOrder,
        is_continued: bool,
    ) -> Select[*tuple[Any, ...]]:
        wanted = JobFilter(states, {name: id_parameter(name) for name in of})
        after_id = id_parameter("after_id") if is_continued else None
        return self.of_page(
            page_of_runs(reader, wanted, order, after_id).limit(id_parameter("length")), order
        )

    def of_page(self, page: Select[int], order: JobOrder) -> Select[*tuple[Any, ...]]:
        return self.select_columns().where(Job.id.in_(page)).order_by(*sort_columns(order))


RUN_LINES = RunColumns(lambda: select_job_lines(Job.variables, Job.command))
RUN_RECORDS = RunColumns(select_job_records)


def page_of_runs(actor: Actor, wanted: JobFilter, order: JobOrder, after_id: int | None) -> Select[int]:
    """The ids alone, from an index of the order."""
    if order is JobOrder.NEWEST:
        query = page_of_job_ids(actor, wanted.states, wanted.of, after_id)
    else:
        query = select(Job.id).where(can_see_job(actor, is_found_otherwise=True))
        query = query.where(*state_conditions(wanted.states, order))
        query = query.where(
            *(getattr(Job, name) == key for name, key in wanted.of.items() if key is not None)
        )
        if after_id is not None:
            query = query.where(comes_after(order, after_id))
        query = query.order_by(*sort_columns(order)).correlate(None)
    if wanted.tag:
        query = query.where(Job.id.in_(select(JobTag.job_id).where(JobTag.tag == wanted.tag)))
    if wanted.metric:
        query = query.where(Job.headline_metric == wanted.metric)
    return query.where(search_condition(wanted.search)) if wanted.search else query


def state_conditions(states: Sequence[JobState], order: JobOrder) -> list[ColumnElement[bool]]:
    """SQLite uses a partial index only if the query repeats its condition. It would otherwise sort all jobs of a state
    instead of reading in the index's order, so the column is hidden in an expression.
    """
    if order is JobOrder.OLDEST:
        return [Job.state.in_(states)] if states else []
    values = [state.value for state in states]
    found = [type_coerce(Job.state, String).concat("").in_(values)] if values else []
    return [*found, Job.ended_at.is_not(None) if order is JobOrder.ENDED else Job.headline_score.is_not(None)]


def sort_columns(order: JobOrder) -> list[ColumnElement[Any]]:
    match order:
        case JobOrder.NEWEST:
            return [Job.id.desc()]
        case JobOrder.OLDEST:
            return [Job.id.asc()]
        case JobOrder.WORST:
            return [Job.headline_score.asc(), Job.id.asc()]
        case JobOrder.BEST:
            return [Job.headline_score.desc(), Job.id.desc()]
        case JobOrder.ENDED:
            return [Job.ended_at.desc(), Job.id.desc()]


def comes_after(order: JobOrder, after_id: int) -> ColumnElement[bool]:
    """Whether a row comes after that job. No row does if the job is not in this order."""
    if order is JobOrder.OLDEST:
        return Job.id > after_id
    column: InstrumentedAttribute[Any] = Job.ended_at if order is JobOrder.ENDED else Job.headline_score
    place = tuple_(select(column).where(Job.id == after_id).correlate(None).scalar_subquery(), after_id)
    row = tuple_(column, Job.id)
    return row > place if order is JobOrder.WORST else row < place


def search_condition(text: str) -> ColumnElement[bool]:
    number = JOB_NUMBER.fullmatch(text.strip().lower())
    found = [
        Job.name.icontains(text, autoescape=True),
        Job.note.icontains(text, autoescape=True),
        Job.training_id.in_(select(Training.id).where(Training.name.icontains(text, autoescape=True))),
        Job.user_id.in_(select(User.id).where(User.name == text.lower())),
        Job.id.in_(select(JobTag.job_id).where(JobTag.tag == text.lower())),
    ]
    newest = select(func.max(Job.id)).correlate(None).scalar_subquery()
    among_newest = or_(*found) & (Job.id > newest - SEARCHED_JOBS)
    return among_newest | (Job.id == int(number[1])) if number else among_newest
