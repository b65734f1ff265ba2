"""Submits sweeps: all jobs of a sweep or none, in one transaction."""

from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from cluster.domain.built_in_models import BUILT_IN_MODELS, VariableValue
from cluster.domain.errors import Refused
from cluster.domain.jobs.submission import JobRequest, SubmissionWarning
from cluster.domain.people.actor import Actor
from cluster.domain.refusals import Refusals
from cluster.domain.states import JobState, TrainingKind
from cluster.domain.sweeps import plan as sweeps
from cluster.domain.sweeps.job_names import sweep_job_names
from cluster.services.context import Cluster
from cluster.services.jobs import submission
from cluster.services.jobs.events import add_job_events_by_query, publish_all_jobs
from cluster.services.trainings import load_training
from cluster.store.audit import add_audit_entry
from cluster.store.jobs import Job, Sweep
from cluster.store.sql.bulk_insert import insert_jobs


@dataclass(frozen=True)
class CheckedSweep:
    """A sweep that passed all checks; `own_columns` has, for each job, the columns in which the jobs differ."""

    plan: sweeps.SweepPlan
    name: str
    first: JobRequest
    own_columns: list[dict[str, Any]]
    warnings: tuple[SubmissionWarning, ...]
    asked: submission.CheckedSubmission
    """The first job, as it was checked."""


def submit_sweep(
    cluster: Cluster,
    actor: Actor,
    training_id: int,
    request: sweeps.SweepRequest,
    idempotency: tuple[str, str] | None = None,
) -> Sweep:
    """Submits all jobs or none, with one audit entry. Raises what `jobs.submit_job` raises.

    The jobs are computed before the transaction begins, so that the transaction is short.
    """
    now = cluster.clock()
    with cluster.store.read() as session:
        if idempotency and (answered := submission.read_idempotent_answer(session, actor, *idempotency)):
            return session.get_one(Sweep, answered)
        checked = check_sweep_request(cluster, session, actor, training_id, request)
    lock = f"submit {actor.user_id}" if idempotency else None
    with cluster.store.write(lock, is_long=True) as session:
        if idempotency and (answered := submission.read_idempotent_answer(session, actor, *idempotency)):
            return session.get_one(Sweep, answered)
        asked = submission.check_submission(cluster, session, actor, training_id, checked.first)
        training = asked.training
        sweep = Sweep(
            workspace_id=training.workspace_id,
            training_id=training.id,
            user_id=actor.user_id,
            name=checked.name,
            plan=checked.plan.to_data() | {"command": list(request.job.command)},
            jobs=checked.plan.size,
            most_at_once=request.most_at_once,
            stop_on_trouble=request.stop_on_trouble,
            submitted_at=now,
        )
        session.add(sweep)
        session.flush()
        shared = submission.job_columns(asked, actor, now) | {"sweep_id": sweep.id}
        insert_jobs(session, shared, checked.own_columns)
        add_job_events_by_query(
            session, select(Job.id).where(Job.sweep_id == sweep.id), now, JobState.WAITING, "job.submitted"
        )
        if idempotency:
            submission.store_idempotent_answer(session, actor, *idempotency, sweep.id, now)
        add_audit_entry(session, now, actor, "sweep.submitted", sweep.id, name=sweep.name, jobs=sweep.jobs)
    publish_all_jobs(cluster)
    return sweep


def check_sweep_request(
    cluster: Cluster, session: Session, actor: Actor, training_id: int, request: sweeps.SweepRequest
) -> CheckedSweep:
    """Checks a sweep for preview, form and REST alike. Raises Refused with every field that is wrong."""
    training = load_training(session, actor, training_id)
    model = BUILT_IN_MODELS[training.model or ""] if training.kind is TrainingKind.BUILT_IN else None
    try:
        plan = sweeps.check_sweep(request, model)
        if model is None:
            sweeps.check_commands(request.job.command, plan)
    except Refused as refusal:
        refusals = Refusals()
        refusals.check(submission.check_submission, cluster, session, actor, training_id, request.job)
        refusals.add(refusal)
        refusals.raise_all()
        raise
    if model is None:
        command = sweeps.fill_command(request.job.command, plan.row(1))
        first = replace(request.job, command=tuple(command))
    else:
        texts = {name: str(value) for name, value in plan.row(1).items()}
        first = replace(request.job, variables={**request.job.variables, **texts})
    asked = submission.check_submission(cluster, session, actor, training_id, first)
    checked = asked.request
    names = sweep_job_names(checked.name, plan)
    own = [
        {
            "sweep_number": number,
            "name": names[number - 1],
            **own_job_columns(request.job, checked, model is None, row),
        }
        for number, row in enumerate(plan.rows(), start=1)
    ]
    warnings = asked.warnings + sweeps.unknown_placeholders(request.job, plan)
    return CheckedSweep(plan, checked.name, first, own, warnings, asked)


def own_job_columns(
    job: JobRequest, first: JobRequest, is_own_code: bool, row: dict[str, VariableValue]
) -> dict[str, Any]:
    """The columns in which a sweep's jobs differ. A person's own code reads values from its command or by name."""
    command = sweeps.fill_command(job.command, row) if is_own_code else []
    return {"command": command, "variables": {**first.variables, **row}}


def require_valid_sweep(
    cluster: Cluster, actor: Actor, training_id: int, request: sweeps.SweepRequest
) -> None:
    """Raises what `submit_sweep` would raise, and writes nothing."""
    with cluster.store.read() as session:
        check_sweep_request(cluster, session, actor, training_id, request)
