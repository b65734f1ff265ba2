"""Reads the jobs that a person chose together, and stops them in one transaction."""

from collections.abc import Collection
from dataclasses import dataclass

from sqlalchemy import select
from sqlalchemy.orm import Session

from cluster.domain.errors import Refused
from cluster.domain.people.actor import Actor
from cluster.domain.people.permissions import is_allowed, require_permission
from cluster.domain.states import ENDED_JOB_STATES
from cluster.services.context import Cluster
from cluster.services.jobs.events import publish_jobs
from cluster.services.jobs.queries import load_job
from cluster.services.jobs.stop_requests import request_stop
from cluster.services.people.access import job_relation
from cluster.store.jobs import Job, JobTag

MAX_JOBS_CHOSEN = 200


@dataclass(frozen=True)
class ChosenJob:
    """One of the jobs that a person chose, and what the person may do with it."""

    job: Job
    may_stop: bool
    may_delete_files: bool
    may_annotate: bool
    tags: tuple[str, ...]


def read_chosen_jobs(cluster: Cluster, actor: Actor, job_ids: Collection[int]) -> list[ChosenJob]:
    """Reads the jobs in the order of their ids. Raises NotFound for one that the person may not see, Refused for none
    or too many.
    """
    with cluster.store.read() as session:
        jobs = load_chosen(session, actor, job_ids)
        tags = read_tags(session, job_ids)
    return [
        ChosenJob(
            job,
            job.state not in ENDED_JOB_STATES and is_allowed("job.stop", job_relation(actor, job)),
            job.state in ENDED_JOB_STATES and is_allowed("job.delete_files", job_relation(actor, job)),
            is_allowed("job.annotate", job_relation(actor, job)),
            tuple(sorted(tags.get(job.id, ()))),
        )
        for job in jobs
    ]


def load_chosen(session: Session, actor: Actor, job_ids: Collection[int]) -> list[Job]:
    ids = sorted(set(job_ids))
    if not ids:
        raise Refused("jobs", "job.none_chosen")
    if len(ids) > MAX_JOBS_CHOSEN:
        raise Refused("jobs", "job.too_many_chosen", most=MAX_JOBS_CHOSEN, count=len(ids))
    return [load_job(session, actor, job_id) for job_id in ids]


def lock_jobs(session: Session, job_ids: Collection[int]) -> None:
    """Locks the rows, because the scheduler may be writing the end of one job at the same moment."""
    session.execute(select(Job.id).where(Job.id.in_(job_ids)).order_by(Job.id).with_for_update())


def read_tags(session: Session, job_ids: Collection[int]) -> dict[int, set[str]]:
    found: dict[int, set[str]] = {}
    for job_id, tag in session.execute(select(JobTag.job_id, JobTag.tag).where(JobTag.job_id.in_(job_ids))):
        found.setdefault(job_id, set()).add(tag)
    return found


def read_job_tags(cluster: Cluster, job_id: int) -> tuple[str, ...]:
    with cluster.store.read() as session:
        return tuple(sorted(read_tags(session, [job_id]).get(job_id, ())))


def stop_jobs(cluster: Cluster, actor: Actor, job_ids: Collection[int]) -> list[int]:
    """Requests the stop of all jobs or of none; ended jobs stay as they are. Returns the ids of the jobs that were not
    ended.

    Raises NotFound, Forbidden, Refused.
    """
    now = cluster.clock()
    with cluster.store.write() as session:
        lock_jobs(session, job_ids)
        living = [job for job in load_chosen(session, actor, job_ids) if job.state not in ENDED_JOB_STATES]
        for job in living:
            require_permission("job.stop", job_relation(actor, job), job.id)
        for job in living:
            request_stop(session, actor, job, now)
        stopped = [job.id for job in living]
    publish_jobs(cluster, *stopped)
    return stopped
