"""Checks the request for a sweep before anything is written."""

from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy.orm import Session

from cluster.domain.built_in_models import BUILT_IN_MODELS, VariableValue
from cluster.domain.errors import Refused
from cluster.domain.jobs.submission import JobRequest, SubmissionWarning
from cluster.domain.people.actor import Actor
from cluster.domain.refusals import Refusals
from cluster.domain.states import TrainingKind
from cluster.domain.sweeps import plan as sweeps
from cluster.domain.sweeps.job_names import sweep_job_names
from cluster.services.context import Cluster
from cluster.services.jobs import submission
from cluster.services.trainings import load_training


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


def require_valid_submission(
    cluster: Cluster, actor: Actor, training_id: int, request: JobRequest | sweeps.SweepRequest
) -> None:
    """Raises what `submit_job` or `submit_sweep` would raise for the request, and writes nothing."""
    if isinstance(request, JobRequest):
        submission.require_valid_job(cluster, actor, training_id, request)
        return
    with cluster.store.read() as session:
        check_sweep_request(cluster, session, actor, training_id, request)
