"""Deletes the files of ended jobs: people request it here, the scheduler does it and records it."""

from collections.abc import Collection
from dataclasses import dataclass

from sqlalchemy import select
from sqlalchemy.orm import load_only

from cluster.domain.errors import Conflict, Gone
from cluster.domain.people.actor import Actor
from cluster.domain.people.permissions import is_allowed, require_permission
from cluster.domain.states import ENDED_JOB_STATES
from cluster.services.context import Cluster
from cluster.services.jobs.events import add_job_event
from cluster.services.jobs.queries import JobAttempt, JobRecord, load_job, read_attempt
from cluster.services.leases import HeldLease, check_lease
from cluster.services.people.access import job_relation
from cluster.store.audit import add_audit_entry
from cluster.store.jobs import FILES_TO_DELETE, IS_LIVE, Job

MAX_JOBS_PER_REQUEST = 200
"""Jobs in one request."""
DELETIONS_PER_PASS = 16


@dataclass(frozen=True)
class PendingFileDeletion:
    """A job whose files are to be deleted."""

    job_id: int
    workspace_id: int


def can_delete_files(actor: Actor, job: Job) -> bool:
    return is_allowed("job.delete_files", job_relation(actor, job))


def has_files(job: Job) -> bool:
    """Whether there may be files that somebody could delete."""
    return job.fence > 0 and job.files_unwanted_at is None


def can_delete_files_now(actor: Actor, job: Job) -> bool:
    """Whether the job has ended and has files that this person may delete."""
    return job.state in ENDED_JOB_STATES and has_files(job) and can_delete_files(actor, job)


def request_file_deletion(cluster: Cluster, actor: Actor, job_ids: Collection[int]) -> list[Job]:
    """Requests the deletion of all files of all these jobs, or of none. A second call changes nothing.

    A job's user, the training's owner, the workspace's manager and administrators may. The rows stay, with history and
    numbers. Raises NotFound, Forbidden, and Conflict for a job that has not ended.
    """
    now, asked = cluster.clock(), []
    with cluster.store.write() as session:
        for job_id in sorted(set(job_ids)):
            session.execute(select(Job.id).where(Job.id == job_id).with_for_update())
            job = load_job(session, actor, job_id)
            require_permission("job.delete_files", job_relation(actor, job), job_id)
            if job.state not in ENDED_JOB_STATES:
                raise Conflict("job.files_of_living", id=job.id)
            reader = session.scalar(
                select(Job.id).where(Job.continues_job_id == job.id, IS_LIVE).order_by(Job.id).limit(1)
            )
            if reader is not None:
                raise Conflict("job.files_of_continued", id=job.id, by=reader)
            asked.append(job)
            if job.files_unwanted_at is not None:
                continue
            job.files_unwanted_at, job.files_unwanted_by = now, actor.name[:64]
            add_job_event(session, job, now, job.state, "job.files_unwanted", {"by": actor.name})
            add_audit_entry(session, now, actor, "job.files_unwanted", job.id, bytes=job.storage_bytes)
    for job in asked:
        cluster.events.publish("jobs", job.id)
    cluster.events.publish("queue", 0)
    return asked


def require_files(job: Job) -> None:
    """Raises Gone if the files of this job were deleted, or are just being deleted."""
    if job.files_unwanted_at is not None:
        raise Gone(deletion_code(job), **deletion_data(job))


def read_attempt_with_files(cluster: Cluster, actor: Actor, job_id: int, number: int | None) -> JobAttempt:
    """Returns the attempt whose files a person may read, without the rest of its job. Raises NotFound and Gone."""
    attempt = read_attempt(cluster, actor, job_id, number)
    columns = load_only(Job.id, Job.files_unwanted_at, Job.files_unwanted_by, Job.files_deleted_at)
    with cluster.store.read() as session:
        require_files(session.get_one(Job, job_id, options=[columns]))
    return attempt


def deletion_code(job: Job | JobRecord) -> str:
    return "job.files_deleted" if job.files_deleted_at is not None else "job.files_going"


def deletion_data(job: Job | JobRecord) -> dict[str, object]:
    at = job.files_deleted_at or job.files_unwanted_at
    return {"id": job.id, "by": job.files_unwanted_by, "at": at.isoformat() if at else None}


def list_pending_deletions(cluster: Cluster) -> list[PendingFileDeletion]:
    """Lists a few jobs whose files still wait for their deletion, the oldest first."""
    query = select(Job.id, Job.workspace_id).where(FILES_TO_DELETE).order_by(Job.id).limit(DELETIONS_PER_PASS)
    with cluster.store.read_columns() as connection:
        return [
            PendingFileDeletion(job_id, workspace_id) for job_id, workspace_id in connection.execute(query)
        ]


def record_files_deleted(cluster: Cluster, held: HeldLease, job_id: int) -> bool:
    """Records that the files of the job are gone. Returns False if that is recorded already. Raises LeaseLost."""
    now = cluster.clock()
    with cluster.store.write() as session:
        check_lease(session, held)
        job = session.get_one(Job, job_id, with_for_update=True)
        if job.files_deleted_at is not None:
            return False
        job.files_deleted_at = now
        add_job_event(session, job, now, job.state, "job.files_gone", {"by": job.files_unwanted_by})
    cluster.events.publish("jobs", job_id)
    return True
