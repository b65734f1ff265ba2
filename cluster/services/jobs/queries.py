"""Reads jobs for pages and REST, as far as the person may see them."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cache
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Integer, Select, bindparam, exists, func, select
from sqlalchemy.orm import InstrumentedAttribute, Session, joinedload, selectinload
from sqlalchemy.sql.base import ExecutableOption

from cluster.domain.errors import NotFound
from cluster.domain.jobs.headline_metric import HeadlineMetric
from cluster.domain.people.actor import Actor
from cluster.domain.states import ENDED_JOB_STATES, LIVE_JOB_STATES, JobState, Launcher
from cluster.services.context import Cluster
from cluster.store.datasets import Dataset
from cluster.store.jobs import IS_ENDED, IS_LIVE, Attempt, Job, JobEvent, JobTag, headline_of
from cluster.store.nodes import Allocation, Unit
from cluster.store.sql.reader_statement import ReaderStatement, id_parameter
from cluster.store.sql.visibility import can_see_job
from cluster.store.trainings import Training
from cluster.store.users import User
from cluster.store.workspaces import Workspace


@dataclass(frozen=True)
class JobAttempt:
    """The ids that name the folder of an attempt's files. `number` is 0 before the first attempt."""

    job_id: int
    workspace_id: int
    number: int


JOB_LOADS = (
    joinedload(Job.workspace).joinedload(Workspace.manager),
    joinedload(Job.training).joinedload(Training.owner),
    joinedload(Job.training).selectinload(Training.members),
    joinedload(Job.training).joinedload(Training.workspace).selectinload(Workspace.members),
    joinedload(Job.user),
    joinedload(Job.dataset),
)


class JobLine(NamedTuple):
    """A job as lists show it. It has columns alone, because fifty objects with their relations cost more than the
    page.
    """

    id: int
    name: str
    state: JobState
    units: int
    fence: int
    user_id: int
    user_name: str
    workspace_id: int
    workspace_name: str
    training_id: int
    training_name: str
    sweep_id: int | None
    dataset_id: int | None
    submitted_at: datetime
    started_at: datetime | None
    ended_at: datetime | None
    end_code: str | None
    end_data: dict[str, Any] | None
    storage_bytes: int | None
    files_unwanted_at: datetime | None
    held_at: datetime | None
    held_by: int | None
    waiting_code: str | None
    waiting_data: dict[str, Any] | None
    headline_metric: str | None
    headline_value: float | None
    headline_is_best: bool | None
    headline_score: float | None
    tags_text: str | None
    """The job's tags, joined by commas."""
    note: str | None
    progress: float | None
    """The progress of the job's newest attempt. The next field is also of that attempt."""
    expected_end_at: datetime | None

    @property
    def is_waiting(self) -> bool:
        return self.state is JobState.WAITING

    @property
    def headline(self) -> HeadlineMetric | None:
        return headline_of(
            self.headline_metric, self.headline_value, self.headline_is_best, self.headline_score
        )

    @property
    def tags(self) -> tuple[str, ...]:
        return split_tags(self.tags_text)


def split_tags(joined: str | None) -> tuple[str, ...]:
    return tuple(sorted(joined.split(","))) if joined else ()


HEADLINE_COLUMNS = (Job.headline_metric, Job.headline_value, Job.headline_is_best, Job.headline_score)
JOINED_TAGS = (
    select(func.aggregate_strings(JobTag.tag, ","))
    .where(JobTag.job_id == Job.id)
    .correlate(Job)
    .scalar_subquery()
)
JOB_LINE_COLUMNS = (
    Job.id, Job.name, Job.state, Job.units, Job.fence, Job.user_id, User.name, Job.workspace_id, Workspace.name,
    Job.training_id, Training.name, Job.sweep_id, Job.dataset_id, Job.submitted_at, Job.started_at, Job.ended_at,
    Job.end_code, Job.end_data, Job.storage_bytes, Job.files_unwanted_at, Job.held_at, Job.held_by,
    Job.waiting_code, Job.waiting_data, *HEADLINE_COLUMNS, JOINED_TAGS, Job.note, Attempt.progress,
    Attempt.expected_end_at,
)  # fmt: skip
"""The columns of the fields of `JobLine`."""


def select_job_lines(*more: ColumnElement[Any] | InstrumentedAttribute[Any]) -> Select[*tuple[Any, ...]]:
    """Selects the columns of `JobLine`, and those of `more`."""
    query = with_names(select(*JOB_LINE_COLUMNS, *more))
    return query.outerjoin(Attempt, (Attempt.job_id == Job.id) & (Attempt.number == Job.fence))


def with_names(query: Select[*tuple[Any, ...]]) -> Select[*tuple[Any, ...]]:
    """Joins the person, the workspace and the training of the job."""
    return (
        query.join(User, User.id == Job.user_id)
        .join(Workspace, Workspace.id == Job.workspace_id)
        .join(Training, Training.id == Job.training_id)
    )


def load_job_lines(
    session: Session, actor: Actor, ids: Collection[int]
) -> tuple[dict[int, JobLine], set[int]]:
    """Loads the jobs as lines, and the ids of those that the person may see."""
    if not ids:
        return {}, set()
    rows, seen = {}, set()
    for *columns, is_seen in LINES_BY_ID.execute(session, actor, ids=list(ids)):
        line = JobLine(*columns)
        rows[line.id] = line
        if is_seen:
            seen.add(line.id)
    return rows, seen


def select_lines_by_id(reader: Actor) -> Select[*tuple[Any, ...]]:
    ids = bindparam("ids", expanding=True, type_=Integer())
    return select_job_lines(can_see_job(reader).label("seen")).where(Job.id.in_(ids))


LINES_BY_ID = ReaderStatement(select_lines_by_id)


def load_whole_job(session: Session, job_id: int) -> Job:
    """Loads the job with everything that belongs to it except its attempts and its history."""
    return session.execute(select(Job).where(Job.id == job_id).options(*JOB_LOADS)).scalar_one()


def filter_ids_of_user(session: Session, actor: Actor, ids: Collection[int], user_id: int) -> set[int]:
    """Returns the jobs of this user among `ids` that the reader may see. The reader learns no owner of the others."""
    query = select(Job.id).where(Job.id.in_(ids), Job.user_id == user_id, can_see_job(actor))
    return set(session.scalars(query))


def load_job(session: Session, actor: Actor, job_id: int) -> Job:
    """Loads the job with everything that its page shows. Raises NotFound if the person may not see it."""
    job = WHOLE_JOB.execute(session, actor, job_id=job_id).scalar()
    if job is None:
        raise NotFound("job", job_id)
    return job


def select_whole_job(reader: Actor) -> Select[Job]:
    query = select(Job).where(Job.id == id_parameter("job_id"), can_see_job(reader))
    return query.options(*JOB_LOADS, *attempt_and_event_loads())


def attempt_and_event_loads() -> tuple[ExecutableOption, ...]:
    held = selectinload(Job.attempts).selectinload(Attempt.allocations).joinedload(Allocation.unit)
    nodes = selectinload(Job.attempts).joinedload(Attempt.node)
    return held.joinedload(Unit.node), nodes, selectinload(Job.events)


WHOLE_JOB = ReaderStatement(select_whole_job)


def read_job(cluster: Cluster, actor: Actor, job_id: int) -> Job:
    with cluster.store.read() as session:
        return load_job(session, actor, job_id)


def read_newest_attempts(cluster: Cluster, actor: Actor, job_ids: Collection[int]) -> dict[int, JobAttempt]:
    """Returns job id → newest attempt, without the jobs that the person may not see.

    It decides by the same rule as `read_job`, which loads a whole page. This is one statement of columns for callers
    that ask every few seconds.
    """
    if not job_ids:
        return {}
    query = newest_attempts_query(actor.is_administrator)
    with cluster.store.read() as session:
        rows = session.execute(query, {"job_ids": list(job_ids), "viewer_id": actor.user_id}).all()
    return {job_id: JobAttempt(job_id, workspace_id, number) for job_id, workspace_id, number in rows}


@cache
def newest_attempts_query(is_administrator: bool) -> Select[int, int, int]:
    """The statement for the jobs `job_ids` that `viewer_id` may see; both are parameters. It is kept because building
    it takes longer than running it.
    """
    viewer_id: Any = bindparam("viewer_id", type_=Integer)
    number = select(func.max(Attempt.number)).where(Attempt.job_id == Job.id).scalar_subquery()
    return select(Job.id, Job.workspace_id, func.coalesce(number, 0)).where(
        Job.id.in_(bindparam("job_ids", expanding=True)),
        can_see_job(Actor(viewer_id, "", is_administrator)),
    )


def read_attempt(cluster: Cluster, actor: Actor, job_id: int, number: int | None = None) -> JobAttempt:
    """The newest attempt unless another is asked for. Raises NotFound for an attempt that does not exist, and if the
    person may not see the job.
    """
    newest = read_newest_attempts(cluster, actor, [job_id]).get(job_id)
    if newest is None:
        raise NotFound("job", job_id)
    if number is None:
        return newest
    with cluster.store.read() as session:
        if not session.scalar(select(exists().where(Attempt.job_id == job_id, Attempt.number == number))):
            raise NotFound("attempt", number)
    return replace(newest, number=number)


def filter_visible_ids(cluster: Cluster, actor: Actor, job_ids: Collection[int]) -> set[int]:
    if not job_ids:
        return set()
    with cluster.store.read() as session:
        return set(session.scalars(select(Job.id).where(Job.id.in_(job_ids), can_see_job(actor))))


def read_job_events(cluster: Cluster, job_id: int) -> list[JobEvent]:
    """Returns the events of the job, the oldest first."""
    with cluster.store.read() as session:
        return list(session.scalars(select(JobEvent).where(JobEvent.job_id == job_id).order_by(JobEvent.id)))


def list_jobs(
    cluster: Cluster,
    actor: Actor,
    states: Sequence[JobState] = (),
    workspace_id: int | None = None,
    training_id: int | None = None,
    user_id: int | None = None,
    sweep_id: int | None = None,
    before_id: int | None = None,
    limit: int = 50,
) -> list[JobLine]:
    """Lists jobs, newest first, one keyset page: those below `before_id`."""
    every = {
        "workspace_id": workspace_id,
        "training_id": training_id,
        "user_id": user_id,
        "sweep_id": sweep_id,
    }
    of = {name: key for name, key in every.items() if key is not None}
    shape = tuple(states), tuple(of), before_id is not None
    values = {"before_id": before_id, "length": limit, **of}
    with cluster.store.read_columns() as connection:
        return [JobLine(*row) for row in PAGE_OF_LINES.execute(connection, actor, *shape, **values)]


def select_page_of_lines(
    reader: Actor, states: Sequence[JobState], of: Sequence[str], is_continued: bool
) -> Select[*tuple[Any, ...]]:
    before_id = id_parameter("before_id") if is_continued else None
    page = page_of_job_ids(reader, states, {name: id_parameter(name) for name in of}, before_id)
    ids = page.limit(id_parameter("length"))
    return select_job_lines().where(Job.id.in_(ids)).order_by(Job.id.desc())


PAGE_OF_LINES = ReaderStatement(select_page_of_lines)


class NamedRow(NamedTuple):
    """The training, workspace or person of a job, as far as an answer names it."""

    id: int
    name: str


class JobRecord(NamedTuple):
    """A job as the lists of REST show it, with the attributes of a `Job`."""

    id: int
    name: str
    state: JobState
    units: int
    fence: int
    workspace_id: int
    workspace_name: str
    training_id: int
    training_name: str
    user_id: int
    user_name: str
    dataset_id: int | None
    dataset_name: str | None
    sweep_id: int | None
    launcher: Launcher
    command: list[Any]
    variables: dict[str, Any]
    priority: int
    time_limit_seconds: int | None
    grace_seconds: int
    retries: int
    retries_used: int
    memory_bytes: int | None
    resume_from: str | None
    continues_job_id: int | None
    code_version: int
    environment_id: int | None
    submitted_at: datetime
    dispatched_at: datetime | None
    started_at: datetime | None
    ended_at: datetime | None
    exit_code: int | None
    end_code: str | None
    end_data: dict[str, Any] | None
    storage_bytes: int | None
    files_unwanted_at: datetime | None
    files_unwanted_by: str | None
    files_deleted_at: datetime | None
    held_at: datetime | None
    held_by: int | None
    waiting_code: str | None
    waiting_data: dict[str, Any] | None
    headline_metric: str | None
    headline_value: float | None
    headline_is_best: bool | None
    headline_score: float | None
    tags_text: str | None
    note: str | None

    @property
    def headline(self) -> HeadlineMetric | None:
        return headline_of(
            self.headline_metric, self.headline_value, self.headline_is_best, self.headline_score
        )

    @property
    def tags(self) -> tuple[str, ...]:
        return split_tags(self.tags_text)

    @property
    def workspace(self) -> NamedRow:
        return NamedRow(self.workspace_id, self.workspace_name)

    @property
    def training(self) -> NamedRow:
        return NamedRow(self.training_id, self.training_name)

    @property
    def user(self) -> NamedRow:
        return NamedRow(self.user_id, self.user_name)

    @property
    def dataset(self) -> NamedRow | None:
        return NamedRow(self.dataset_id, self.dataset_name or "") if self.dataset_id is not None else None


JOB_RECORD_COLUMNS = (
    Job.id, Job.name, Job.state, Job.units, Job.fence, Job.workspace_id, Workspace.name, Job.training_id,
    Training.name, Job.user_id, User.name, Job.dataset_id, Dataset.name, Job.sweep_id, Job.launcher, Job.command,
    Job.variables, Job.priority, Job.time_limit_seconds, Job.grace_seconds, Job.retries, Job.retries_used,
    Job.memory_bytes, Job.resume_from, Job.continues_job_id, Job.code_version,
    Job.environment_id, Job.submitted_at,
    Job.dispatched_at, Job.started_at, Job.ended_at,
    Job.exit_code, Job.end_code, Job.end_data, Job.storage_bytes, Job.files_unwanted_at, Job.files_unwanted_by,
    Job.files_deleted_at, Job.held_at, Job.held_by, Job.waiting_code, Job.waiting_data, *HEADLINE_COLUMNS,
    JOINED_TAGS, Job.note,
)  # fmt: skip
"""The columns of the fields of `JobRecord`."""


def select_job_records() -> Select[*tuple[Any, ...]]:
    return with_names(select(*JOB_RECORD_COLUMNS)).outerjoin(Dataset, Dataset.id == Job.dataset_id)


def page_of_job_ids(
    actor: Actor, states: Sequence[JobState], of: Mapping[str, int | None], before_id: int | None
) -> Select[int]:
    """The page's ids come first, from an index alone: only its own rows are read from the table.

    `of` are columns of a job with their values.
    """
    is_live = bool(states) and set(states) <= set(LIVE_JOB_STATES)
    query = select(Job.id).where(can_see_job(actor, is_found_otherwise=is_live))
    if states:
        query = query.where(Job.state.in_(states))
    if is_live:
        query = query.where(IS_LIVE)
    elif states and set(states) <= set(ENDED_JOB_STATES):
        query = query.where(IS_ENDED)
    for name, key in of.items():
        if key is not None:
            query = query.where(getattr(Job, name) == key)
    if before_id is not None:
        query = query.where(Job.id < before_id)
    return query.order_by(Job.id.desc()).correlate(None)
