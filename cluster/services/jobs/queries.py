"""Reads jobs for pages and REST, as far as the person may see them."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from sqlalchemy import Select, bindparam, exists, func, select
from sqlalchemy.orm import Session, joinedload, selectinload
from sqlalchemy.sql.base import ExecutableOption

from cluster.domain.errors import NotFound
from cluster.domain.people.actor import Actor
from cluster.domain.states import ENDED_JOB_STATES, LIVE_JOB_STATES, JobState
from cluster.services.context import Cluster
from cluster.store.datasets import Dataset
from cluster.store.jobs import IS_ENDED, IS_LIVE, Attempt, Job, JobEvent
from cluster.store.nodes import Allocation, Unit
from cluster.store.sql.visibility import can_see_job
from cluster.store.trainings import Training
from cluster.store.users import User
from cluster.store.workspaces import Workspace


@dataclass(frozen=True)
class JobAttempt:
    """What names the folder of an attempt's files; `number` is 0 before the first."""

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


JOB_LIST_LOADS = (
    joinedload(Job.user).load_only(User.id, User.name),
    joinedload(Job.workspace).load_only(Workspace.id, Workspace.name),
    joinedload(Job.training).load_only(Training.id, Training.name),
    joinedload(Job.dataset).load_only(Dataset.id, Dataset.name),
)
"""What lists say of a job besides its own row."""
QUEUE_ROW_LOADS = (
    joinedload(Job.user).load_only(User.id, User.name),
    joinedload(Job.workspace).load_only(Workspace.id, Workspace.name),
)
"""What a line of the queue says of a job besides its own row."""


def load_jobs_and_visible(
    session: Session, actor: Actor, ids: Collection[int], opened: int | None = None
) -> tuple[dict[int, Job], dict[int, Job]]:
    """All of them, and those that the person may see, with their user and workspace; `opened` with everything."""
    query = select(Job, can_see_job(actor).label("seen")).where(Job.id.in_(ids)).options(*QUEUE_ROW_LOADS)
    rows, seen = {}, {}
    for job, is_seen in session.execute(query):
        rows[job.id] = job
        if is_seen:
            seen[job.id] = job
    if opened in seen:
        whole = select(Job).where(Job.id == opened).options(*JOB_LOADS)
        session.scalars(whole.execution_options(populate_existing=True)).all()
    return rows, seen


def filter_ids_of_user(session: Session, actor: Actor, ids: Collection[int], user_id: int) -> set[int]:
    """The jobs of this user among `ids` that the reader may see; of the others the reader learns no owner."""
    query = select(Job.id).where(Job.id.in_(ids), Job.user_id == user_id, can_see_job(actor))
    return set(session.scalars(query))


def load_job(session: Session, actor: Actor, job_id: int) -> Job:
    """With everything that its page shows. Raises NotFound where the person may not see it."""
    query = (
        select(Job)
        .where(Job.id == job_id, can_see_job(actor))
        .options(*JOB_LOADS, *attempt_and_event_loads())
    )
    job = session.scalar(query)
    if job is None:
        raise NotFound("job", job_id)
    return job


def attempt_and_event_loads() -> tuple[ExecutableOption, ...]:
    held = selectinload(Job.attempts).selectinload(Attempt.allocations).joinedload(Allocation.unit)
    nodes = selectinload(Job.attempts).joinedload(Attempt.node)
    return held.joinedload(Unit.node), nodes, selectinload(Job.events)


def read_job(cluster: Cluster, actor: Actor, job_id: int) -> Job:
    with cluster.store.read() as session:
        return load_job(session, actor, job_id)


def read_newest_attempts(cluster: Cluster, actor: Actor, job_ids: Collection[int]) -> dict[int, JobAttempt]:
    """By job, without the jobs that the person may not see: `read_job` decides the same, and loads a whole page.

    One statement of columns, for what asks every few seconds.
    """
    if not job_ids:
        return {}
    query = newest_attempts_query(actor.user_id, actor.is_administrator)
    with cluster.store.read() as session:
        rows = session.execute(query, {"job_ids": list(job_ids)}).all()
    return {job_id: JobAttempt(job_id, workspace_id, number) for job_id, workspace_id, number in rows}


@lru_cache(maxsize=256)
def newest_attempts_query(user_id: int, is_administrator: bool) -> Select[int, int, int]:
    """Of the jobs `job_ids` (a parameter). Kept per person: the statement takes longer to make than to run."""
    number = select(func.max(Attempt.number)).where(Attempt.job_id == Job.id).scalar_subquery()
    return select(Job.id, Job.workspace_id, func.coalesce(number, 0)).where(
        Job.id.in_(bindparam("job_ids", expanding=True)),
        can_see_job(Actor(user_id, "", is_administrator)),
    )


def read_attempt(cluster: Cluster, actor: Actor, job_id: int, number: int | None = None) -> JobAttempt:
    """The newest attempt unless another is asked for. Raises NotFound for one that never was, and where the person may
    not see the job."""
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
    """Its history, the oldest line first."""
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
) -> list[Job]:
    """Newest first, one keyset page: those below `before_id`. Of what belongs to them the names are read.

    The page's ids come first, from an index alone: only its own rows are read from the table.
    """
    query = select(Job.id).where(can_see_job(actor))
    if states:
        query = query.where(Job.state.in_(states))
    if states and set(states) <= set(LIVE_JOB_STATES):
        query = query.where(IS_LIVE)
    elif states and set(states) <= set(ENDED_JOB_STATES):
        query = query.where(IS_ENDED)
    for column, value in (
        (Job.workspace_id, workspace_id),
        (Job.training_id, training_id),
        (Job.user_id, user_id),
        (Job.sweep_id, sweep_id),
    ):
        if value is not None:
            query = query.where(column == value)
    if before_id is not None:
        query = query.where(Job.id < before_id)
    page = query.order_by(Job.id.desc()).limit(limit).correlate(None)
    rows = select(Job).where(Job.id.in_(page)).options(*JOB_LIST_LOADS).order_by(Job.id.desc())
    with cluster.store.read() as session:
        return list(session.scalars(rows))
