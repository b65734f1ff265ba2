"""Finds the last job of the same training that finished well before a job."""

from sqlalchemy import select

from cluster.domain.people.actor import Actor
from cluster.domain.states import JobState
from cluster.services.context import Cluster
from cluster.store.jobs import Job
from cluster.store.sql.visibility import can_see_job


def find_last_good_job(cluster: Cluster, actor: Actor, job: Job) -> tuple[int, int] | None:
    """The number of the job and of the code version that it ran; None if there is none."""
    query = (
        select(Job.id, Job.code_version)
        .where(
            Job.training_id == job.training_id,
            Job.state == JobState.FINISHED,
            Job.id < job.id,
            Job.code_version > 0,
            can_see_job(actor),
        )
        .order_by(Job.id.desc())
        .limit(1)
    )
    with cluster.store.read() as session:
        found = session.execute(query).one_or_none()
    return None if found is None else (found[0], found[1])
