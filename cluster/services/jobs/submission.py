"""Submits jobs: one transaction writes the row, its first event and its audit entry."""

from datetime import datetime
from typing import Any

from sqlalchemy.orm import Session
from sqlalchemy.orm.attributes import set_committed_value

from cluster.domain.errors import Refused
from cluster.domain.jobs.submission import JobRequest, SubmissionWarning
from cluster.domain.people.actor import Actor
from cluster.domain.states import (
    DesiredState,
    JobState,
)
from cluster.services.context import Cluster
from cluster.services.jobs.queries import load_job
from cluster.services.jobs.submission_checks import CheckedSubmission, check_submission
from cluster.store.audit import AuditEntry, audit_entry_columns
from cluster.store.jobs import Job, JobEvent, first_position, job_shape
from cluster.store.leases import IdempotentAnswer
from cluster.store.sql.bulk_insert import reserve_ids
from cluster.store.sql.multi_table_insert import insert_rows
from cluster.store.trainings import Training


def submit_job(
    cluster: Cluster,
    actor: Actor,
    training_id: int,
    request: JobRequest,
    idempotency: tuple[str, str] | None = None,
) -> Job:
    """Accepted means committed. `idempotency` is (key, hash of the body): the same pair gets the same job,
    the same key with another body is refused. Raises Refused naming the field; NotFound.

    The job comes with what its description needs, so that nobody has to read it again."""
    now = cluster.clock()
    with cluster.store.write(lock=f"submit {actor.user_id}" if idempotency else None) as session:
        if idempotency and (answered := read_idempotent_answer(session, actor, *idempotency)):
            return load_job(session, actor, answered)
        asked = check_submission(cluster, session, actor, training_id, request)
        (job_id,) = reserve_ids(session, 1)
        row = new_job_row(job_id, job_columns(asked.training, asked.request, actor, now))
        if idempotency:
            store_idempotent_answer(session, actor, *idempotency, job_id, now)
        about = {"name": row["name"], "units": row["units"]}
        insert_rows(
            session.connection(),
            (Job.__table__, row),
            (JobEvent.__table__, submitted_event(job_id, now)),
            (AuditEntry.__table__, audit_entry_columns(now, actor, "job.submitted", job_id, about)),
        )
    cluster.events.publish_all(("queue", job_id), ("jobs", job_id))
    return job_from_row(row, asked)


def new_job_row(job_id: int, columns: dict[str, Any]) -> dict[str, Any]:
    """A job that waits at the end of its priority's line."""
    limits = columns["units"], columns["time_limit_seconds"], columns["dataset_id"]
    return columns | {
        "id": job_id,
        "state": JobState.WAITING,
        "desired": DesiredState.RUN,
        "fence": 0,
        "position": first_position(job_id, columns["priority"]),
        "shape": job_shape(*limits, None),
        "retries_used": 0,
    }


def submitted_event(job_id: int, now: datetime) -> dict[str, Any]:
    return {"job_id": job_id, "at": now, "state": JobState.WAITING.value, "code": "job.submitted", "data": {}}


def job_from_row(row: dict[str, Any], asked: CheckedSubmission) -> Job:
    """Builds the Job from the inserted row and from the rows that the check has loaded, without another query."""
    job = Job(**row)
    set_committed_value(job, "training", asked.training)
    set_committed_value(job, "workspace", asked.training.workspace)
    set_committed_value(job, "user", asked.person)
    set_committed_value(job, "dataset", asked.dataset)
    return job


def job_columns(training: Training, checked: JobRequest, actor: Actor, now: datetime) -> dict[str, Any]:
    """A new job's row, but for its place in the queue; the jobs of a sweep share all but a few of these."""
    return {
        "workspace_id": training.workspace_id,
        "training_id": training.id,
        "user_id": actor.user_id,
        "name": checked.name,
        "units": checked.units,
        "launcher": checked.launcher,
        "command": list(checked.command),
        "variables": dict(checked.variables),
        "code_version": training.code_version,
        "dataset_id": checked.dataset_id,
        "priority": checked.priority,
        "time_limit_seconds": checked.time_limit_seconds,
        "grace_seconds": checked.grace_seconds,
        "retries": checked.retries,
        "memory_bytes": checked.memory_bytes,
        "submitted_at": now,
    }


def read_idempotent_answer(session: Session, actor: Actor, key: str, body_hash: str) -> int | None:
    """The id of what the first such request made. Raises Refused where its body was another one."""
    answer = session.get(IdempotentAnswer, (actor.user_id, key))
    if answer is None:
        return None
    if answer.body_hash != body_hash:
        raise Refused("Idempotency-Key", "idempotency.other_body", key=key)
    return answer.object_id


def store_idempotent_answer(
    session: Session, actor: Actor, key: str, body_hash: str, object_id: int, now: datetime
) -> None:
    session.add(
        IdempotentAnswer(
            user_id=actor.user_id, key=key, body_hash=body_hash, object_id=object_id, created_at=now
        )
    )


def check_submission_request(
    cluster: Cluster, session: Session, actor: Actor, training_id: int, request: JobRequest
) -> tuple[Training, JobRequest, tuple[SubmissionWarning, ...]]:
    """The same checks for the estimate, the form and REST; returns the request with checked values."""
    asked = check_submission(cluster, session, actor, training_id, request)
    return asked.training, asked.request, asked.warnings
