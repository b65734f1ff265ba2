"""Counts jobs by state for the navigation of every page: one statement, and no count is unbounded."""

from collections import Counter
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Select, func, literal_column, select
from sqlalchemy.orm import Session

from cluster.domain.people.actor import Actor
from cluster.domain.queue.start_estimate import MAX_AHEAD_COUNTED
from cluster.domain.states import LIVE_JOB_STATES, JobState
from cluster.services.context import Cluster
from cluster.store.jobs import IS_LIVE, Job
from cluster.store.sql.visibility import can_see_job, member_workspace_ids


def count_live_jobs(cluster: Cluster, actor: Actor) -> dict[str, int]:
    """How many jobs that the person may see are in each living state: at most MAX_AHEAD_COUNTED and one are counted."""
    searches = [
        (state, query) for state in sorted(LIVE_JOB_STATES) for query in visible_jobs_in_state(actor, state)
    ]
    counts = [
        select(func.count()).select_from(query.limit(MAX_AHEAD_COUNTED + 1).subquery()).scalar_subquery()
        for _, query in searches
    ]
    with cluster.store.read() as session:
        row = session.execute(select(*counts)).one()
    found: Counter[str] = Counter()
    for (state, _), count in zip(searches, row, strict=True):
        found[state.value] += count
    return {state: min(MAX_AHEAD_COUNTED + 1, count) for state, count in found.items() if count}


def has_state(state: JobState) -> ColumnElement[bool]:
    """Written out, so that SQLite sees that a partial index has it."""
    return Job.state == literal_column(f"'{state.value}'")


def visible_jobs_in_state(actor: Actor, state: JobState) -> list[Select[Any]]:
    """For users other than administrators only their own workspaces are read: the jobs that wait and the held jobs of
    each have an index. Of the other states there are few jobs.
    """
    some = select(Job.id).where(has_state(state))
    if actor.is_administrator:
        # In the index's order: where most rows wait, PostgreSQL would else begin with the table.
        return [some.where(IS_LIVE).order_by(Job.id)]
    mine = some.where(Job.workspace_id.in_(member_workspace_ids(actor)), can_see_job(actor))
    if state is not JobState.WAITING:
        return [mine.where(IS_LIVE)]
    return [mine.where(Job.held_at.is_(None)), mine.where(Job.held_at.is_not(None))]


def read_oldest_submission(session: Session, *conditions: ColumnElement[bool]) -> datetime | None:
    """When the job was submitted that waits longest, of those for which these hold too; None where none waits."""
    waiting = select(Job.submitted_at).where(IS_LIVE, has_state(JobState.WAITING), *conditions)
    return session.scalar(waiting.order_by(Job.id).limit(1))
