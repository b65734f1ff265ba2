"""Counts jobs by state for the navigation of every page: one statement, and no count is unbounded."""

from collections import Counter
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Select, func, literal_column, not_, or_, select
from sqlalchemy.orm import Session

from cluster.domain.people.actor import Actor
from cluster.domain.queue.start_estimate import MAX_AHEAD_COUNTED
from cluster.domain.states import LIVE_JOB_STATES, JobState
from cluster.services.context import Cluster
from cluster.store.jobs import IS_LIVE, Job
from cluster.store.sql.reader_statement import ReaderStatement
from cluster.store.sql.visibility import can_see_training, member_workspace_ids
from cluster.store.trainings import Training

UNIT_HOLDING_STATES = (JobState.STARTING, JobState.RUNNING, JobState.STOPPING)


def count_live_jobs(cluster: Cluster, actor: Actor) -> dict[str, int]:
    """Counts the jobs in each live state that the person may see, each up to MAX_AHEAD_COUNTED and one."""
    with cluster.store.read() as session:
        row = LIVE_JOB_COUNTS.execute(session, actor).one()
    found: Counter[str] = Counter()
    for column, count in row._mapping.items():
        found[str(column).partition(":")[0]] += count
    return {state: min(MAX_AHEAD_COUNTED + 1, count) for state, count in found.items() if count}


def select_live_job_counts(reader: Actor) -> Select[Any]:
    """Selects a column for each state, with the state's name. A state that is counted in two searches has two."""
    return select(
        *(
            select(func.count())
            .select_from(query.limit(MAX_AHEAD_COUNTED + 1).subquery())
            .scalar_subquery()
            .label(f"{state.value}:{number}")
            for state in sorted(LIVE_JOB_STATES)
            for number, query in enumerate(visible_jobs_in_state(reader, state))
        )
    )


LIVE_JOB_COUNTS = ReaderStatement(select_live_job_counts)


def has_state(state: JobState) -> ColumnElement[bool]:
    """Writes the states into the statement, so that SQLite sees that a partial index fits."""
    return Job.state == literal_column(f"'{state.value}'")


def visible_jobs_in_state(actor: Actor, state: JobState) -> list[Select[Any]]:
    """Limits the query of a person who is no administrator to the person's workspaces.

    The waiting and the held jobs of each workspace have an index; of the other states there are few jobs.
    """
    some = select(Job.id).where(has_state(state))
    if actor.is_administrator:
        # The query is in the index's order. Otherwise PostgreSQL would begin with the table if most rows wait.
        return [some.where(IS_LIVE).order_by(Job.id)]
    # Few trainings are hidden from members of their workspace. PostgreSQL looks up each job's training in the list of
    # hidden ones. With a list of visible ones it would begin there, and read all of their jobs.
    hidden = select(Training.id).where(not_(can_see_training(actor)))
    mine = some.where(Job.workspace_id.in_(member_workspace_ids(actor)), Job.training_id.not_in(hidden))
    if state is not JobState.WAITING:
        return [mine.where(IS_LIVE)]
    return [mine.where(Job.held_at.is_(None)), mine.where(Job.held_at.is_not(None))]


def read_oldest_and_running(session: Session) -> tuple[datetime | None, int]:
    """When the job that waits longest was submitted, and how many jobs hold units, of all people."""
    oldest = select(Job.submitted_at).where(IS_LIVE, has_state(JobState.WAITING)).order_by(Job.id).limit(1)
    holding = or_(*(has_state(state) for state in UNIT_HOLDING_STATES))
    some = select(Job.id).where(IS_LIVE, holding).limit(MAX_AHEAD_COUNTED + 1).subquery()
    row = session.execute(
        select(oldest.scalar_subquery(), select(func.count()).select_from(some).scalar_subquery())
    ).one()
    return row[0], row[1]


def read_oldest_submission(session: Session, *conditions: ColumnElement[bool]) -> datetime | None:
    """When the job that waits longest was submitted, among those that meet the conditions; None if none waits."""
    waiting = select(Job.submitted_at).where(IS_LIVE, has_state(JobState.WAITING), *conditions)
    return session.scalar(waiting.order_by(Job.id).limit(1))
