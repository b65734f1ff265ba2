"""Submits jobs again with the same request."""

from collections.abc import Collection

from cluster.domain.errors import Refused
from cluster.domain.jobs.submission import DEFAULT_ENVIRONMENT_ID, JobRequest
from cluster.domain.people.actor import Actor
from cluster.domain.states import JobKind
from cluster.services.context import Cluster
from cluster.services.jobs.chosen_jobs import load_chosen
from cluster.services.jobs.events import publish_jobs
from cluster.services.jobs.submission import check_submission, job_columns, new_job_row, submitted_event
from cluster.store.audit import AuditEntry, audit_entry_columns
from cluster.store.jobs import Job, JobEvent
from cluster.store.sql.bulk_insert import reserve_ids
from cluster.store.sql.multi_table_insert import insert_rows


def rerun_jobs(cluster: Cluster, actor: Actor, job_ids: Collection[int]) -> list[int]:
    """Submits a job like each of them, with the same code version, dataset and parameters: all of them or none.

    Each is checked as every submission: the dataset may be gone, the workspace may have ended. Returns the new ids in
    the order of the old ones. Raises NotFound, Forbidden, Refused.
    """
    now, made = cluster.clock(), []
    with cluster.store.write() as session:
        for job in load_chosen(session, actor, job_ids):
            if job.kind is JobKind.NOTEBOOK:
                raise Refused("job", "notebook.not_rerun", id=job.id)
            asked = check_submission(cluster, session, actor, job.training_id, request_like(job))
            columns = job_columns(asked, actor, now)
            (job_id,) = reserve_ids(session, 1)
            row = new_job_row(job_id, columns)
            about = {"name": row["name"], "units": row["units"], "like": job.id}
            insert_rows(
                session.connection(),
                (Job.__table__, row),
                (JobEvent.__table__, submitted_event(job_id, now)),
                (AuditEntry.__table__, audit_entry_columns(now, actor, "job.submitted", job_id, about)),
            )
            made.append(job_id)
    publish_jobs(cluster, *made)
    return made


def request_like(job: Job) -> JobRequest:
    return JobRequest(
        name=job.name,
        units=job.units,
        launcher=job.launcher,
        command=tuple(job.command),
        variables={name: str(value) for name, value in job.variables.items()},
        dataset_id=job.dataset_id,
        priority=job.priority,
        time_limit_seconds=job.time_limit_seconds,
        grace_seconds=job.grace_seconds,
        retries=job.retries,
        memory_bytes=job.memory_bytes,
        code_version=job.code_version or None,
        environment_id=environment_id_of(job),
    )


def environment_id_of(job: Job) -> int:
    """Returns the environment that a rerun asks for: that of its job, although the training may name another one by
    now. If it was deleted, the request is refused.
    """
    return DEFAULT_ENVIRONMENT_ID if job.environment_id is None else job.environment_id
