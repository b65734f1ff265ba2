"""Records that a person wants a job stopped: a waiting job ends at once, a running one is stopped by the scheduler."""

from datetime import datetime

from sqlalchemy import select
from sqlalchemy.orm import Session

from cluster.domain.errors import Conflict
from cluster.domain.people.actor import Actor
from cluster.domain.people.permissions import is_allowed, require_permission
from cluster.domain.states import ENDED_JOB_STATES, DesiredState, JobState
from cluster.services.context import Cluster
from cluster.services.jobs.queries import load_job
from cluster.services.notifications.job_events import write_job_end_events
from cluster.services.people.access import job_relation
from cluster.store.audit import add_audit_entry
from cluster.store.jobs import Job, JobEvent


def stop_job(cluster: Cluster, actor: Actor, job_id: int) -> Job:
    """Records that the job is to stop; the scheduler stops its run. A waiting job has ended when this returns. The
    job's user, the training's owner, the workspace's manager and administrators may. Raises Forbidden, Conflict if it
    has ended already; a second request changes nothing.
    """
    now = cluster.clock()
    with cluster.store.write() as session:
        # The row is locked, because the scheduler may be writing this job's end at the same moment.
        session.execute(select(Job.id).where(Job.id == job_id).with_for_update())
        job = load_job(session, actor, job_id)
        require_permission("job.stop", job_relation(actor, job), job_id)
        if job.state in ENDED_JOB_STATES:
            raise Conflict("job.has_ended", id=job.id, state=job.state.value)
        request_stop(session, actor, job, now)
    cluster.events.publish("queue", job_id)
    cluster.events.publish("jobs", job_id)
    return job


def request_stop(session: Session, actor: Actor, job: Job, now: datetime) -> None:
    """Requests the stop of a job that has not ended and whose row is locked. A second request changes nothing."""
    if job.desired is DesiredState.STOP:
        return
    job.desired = DesiredState.STOP
    job.stopped_by = actor.user_id
    if job.state is JobState.WAITING:
        job.state = JobState.STOPPED
        job.ended_at = now
        job.end_code, job.end_data = "exit.stopped_while_waiting", {"by": actor.name}
        job.waiting_code = job.waiting_data = None
    else:
        job.state = JobState.STOPPING
    event = JobEvent(job_id=job.id, at=now, state=job.state.value, code="job.stop_requested")
    event.data = {"by": actor.name}
    session.add(event)
    add_audit_entry(session, now, actor, "job.stop_requested", job.id)
    write_job_end_events(session, [job], now)


def can_stop_job(actor: Actor, job: Job) -> bool:
    return is_allowed("job.stop", job_relation(actor, job))
