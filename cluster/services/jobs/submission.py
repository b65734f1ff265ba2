"""Submits jobs: one transaction writes the row, its first event and its audit entry."""

from datetime import datetime
from typing import Any

from sqlalchemy import func, select
from sqlalchemy.orm import Session
from sqlalchemy.orm.attributes import set_committed_value

from cluster.domain.errors import Conflict, Refused
from cluster.domain.jobs.submission import JobRequest, SubmissionPreview, SubmissionWarning
from cluster.domain.people.actor import Actor
from cluster.domain.people.permissions import is_allowed, require_permission
from cluster.domain.placement.types import JobToPlace, Placement
from cluster.domain.states import (
    ENDED_JOB_STATES,
    DesiredState,
    JobState,
)
from cluster.services.context import Cluster
from cluster.services.images.environments import load_default_environment
from cluster.services.jobs.queries import load_job
from cluster.services.jobs.submission_checks import CheckedSubmission, check_submission, read_largest_node
from cluster.services.people.access import job_relation
from cluster.services.placement.past_durations import expected_duration, read_durations_of_kind
from cluster.services.placement.snapshot import read_placement_snapshot
from cluster.services.placement.start_blockers import dataset_reason, environment_reason
from cluster.store.audit import AuditEntry, add_audit_entry, audit_entry_columns
from cluster.store.datasets import Dataset
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


def preview_submission(
    cluster: Cluster, actor: Actor, training_id: int, request: JobRequest
) -> SubmissionPreview:
    """Previews the submission and writes nothing. Raises what `submit_job` would raise."""
    with cluster.store.read() as session:
        training, checked, warnings = check_submission_request(cluster, session, actor, training_id, request)
        board = read_placement_snapshot(cluster, session)
        kind, _ = read_largest_node(session)
        dataset = session.get(Dataset, checked.dataset_id) if checked.dataset_id else None
        environment = environment_reason(session, load_default_environment(session))
        blocked = dataset_reason(session, dataset) or environment or board.blockers.disk
        last = 1 + (session.scalar(select(func.max(Job.id))) or 0)
        end = first_position(last, checked.priority)
        expected = expected_duration(
            read_durations_of_kind(session, training_id, checked.units), checked.time_limit_seconds
        )
        limit = checked.time_limit_seconds
        head = JobToPlace(
            last,
            training.workspace_id,
            checked.units,
            checked.priority,
            end,
            blocked,
            expected.seconds,
            limit + checked.grace_seconds if limit else None,
            cluster.clock(),
            expected.source,
        )
    decisions = board.decide([*board.jobs_to_place, head])
    decision = next(decision for decision in decisions if decision.job_id == last)
    if isinstance(decision, Placement):
        node = next(node.name for node in board.nodes if node.node_id == decision.node_id)
        return SubmissionPreview(checked.units, kind, node=node, warnings=warnings)
    return SubmissionPreview(checked.units, kind, decision.reason, decision.outlook, warnings=warnings)


def stop_job(cluster: Cluster, actor: Actor, job_id: int) -> Job:
    """Records the wish; the scheduler stops the run. One that waits has ended when this returns.

    Its user, the training's owner, the workspace's manager and administrators may. Raises Forbidden,
    Conflict where it has ended already; a second wish changes nothing.
    """
    now = cluster.clock()
    with cluster.store.write() as session:
        # Held against the scheduler, which may be writing this job's end at the same moment.
        session.execute(select(Job.id).where(Job.id == job_id).with_for_update())
        job = load_job(session, actor, job_id)
        require_permission("job.stop", job_relation(actor, job), job_id)
        if job.state in ENDED_JOB_STATES:
            raise Conflict("job.has_ended", id=job.id, state=job.state.value)
        if job.desired is not DesiredState.STOP:
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
    cluster.events.publish("queue", job_id)
    cluster.events.publish("jobs", job_id)
    return job


def can_stop_job(actor: Actor, job: Job) -> bool:
    return is_allowed("job.stop", job_relation(actor, job))
