"""Reads and writes the rows of notebooks."""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import or_, select
from sqlalchemy.orm import Session, joinedload

from cluster.domain.errors import NotFound
from cluster.domain.people.actor import Actor
from cluster.domain.states import LIVE_JOB_STATES, AttemptState, JobKind, JobState
from cluster.services.context import Cluster
from cluster.services.jobs.queries import read_job
from cluster.store.jobs import IS_LIVE, Attempt, Job, Notebook
from cluster.store.trainings import Training

RUNNING = (
    select(Job, Attempt, Notebook)
    .join(Attempt, (Attempt.job_id == Job.id) & (Attempt.number == Job.fence))
    .join(Notebook, Notebook.job_id == Job.id)
    .where(Job.kind == JobKind.NOTEBOOK, IS_LIVE, Attempt.state == AttemptState.RUNNING)
    .order_by(Job.id)
)
UNANSWERED = RUNNING.where(or_(Notebook.ready_attempt.is_(None), Notebook.ready_attempt != Job.fence))


def load_tokens(session: Session, job_ids: Sequence[int]) -> dict[int, str]:
    rows = session.execute(select(Notebook.job_id, Notebook.token).where(Notebook.job_id.in_(job_ids)))
    return {row[0]: row[1] for row in rows}


@dataclass(frozen=True)
class NotebookState:
    """A notebook with its job, as pages show it."""

    job: Job
    notebook: Notebook
    is_ready: bool
    """Whether Jupyter has answered in the attempt that runs now."""

    @property
    def is_live(self) -> bool:
        return self.job.state in LIVE_JOB_STATES


def read_notebook(cluster: Cluster, actor: Actor, job_id: int) -> NotebookState:
    """Reads the notebook of a job that the person may see. Raises NotFound, also if the job is no notebook."""
    job = read_job(cluster, actor, job_id)
    with cluster.store.read() as session:
        notebook = session.get(Notebook, job_id)
    if notebook is None:
        raise NotFound("notebook", job_id)
    return notebook_state(job, notebook)


def notebook_state(job: Job, notebook: Notebook) -> NotebookState:
    is_ready = job.state is JobState.RUNNING and notebook.ready_attempt == job.fence
    return NotebookState(job, notebook, is_ready)


def list_own_notebooks(cluster: Cluster, actor: Actor) -> list[NotebookState]:
    """The person's notebooks that have not ended, the newest first."""
    query = (
        select(Job, Notebook)
        .join(Notebook, Notebook.job_id == Job.id)
        .where(Job.user_id == actor.user_id, Job.kind == JobKind.NOTEBOOK, IS_LIVE)
        .options(joinedload(Job.training).joinedload(Training.workspace))
        .order_by(Job.id.desc())
    )
    with cluster.store.read() as session:
        return [notebook_state(job, notebook) for job, notebook in session.execute(query)]


def find_live_notebook(session: Session, user_id: int, training_id: int) -> Job | None:
    return session.scalar(
        select(Job).where(
            Job.user_id == user_id,
            Job.training_id == training_id,
            Job.kind == JobKind.NOTEBOOK,
            IS_LIVE,
        )
    )


def list_running(session: Session) -> list[tuple[Job, Attempt, Notebook]]:
    """Every notebook whose shim runs, with its attempt."""
    return [(job, attempt, notebook) for job, attempt, notebook in session.execute(RUNNING)]


def list_unanswered(session: Session) -> list[tuple[Job, Attempt, Notebook]]:
    """The running notebooks whose server has not answered in their attempt yet."""
    return [(job, attempt, notebook) for job, attempt, notebook in session.execute(UNANSWERED)]


def list_living_attempts(session: Session) -> list[tuple[int, int]]:
    """(job, number) of every attempt of a notebook that has not ended, also of one that is starting."""
    query = (
        select(Attempt.job_id, Attempt.number)
        .join(Job, Job.id == Attempt.job_id)
        .where(Job.kind == JobKind.NOTEBOOK, Attempt.ended_at.is_(None))
    )
    return [(job_id, number) for job_id, number in session.execute(query)]
