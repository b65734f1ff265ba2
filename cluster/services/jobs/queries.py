"""Reads the rows of listed jobs, and says which of them the person may see."""

from collections.abc import Collection

from sqlalchemy import select
from sqlalchemy.orm import Session, joinedload

from cluster.domain.people.actor import Actor
from cluster.services.jobs.submission import JOB_LOADS
from cluster.store.jobs import Job
from cluster.store.sql.visibility import can_see_job
from cluster.store.users import User
from cluster.store.workspaces import Workspace

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
