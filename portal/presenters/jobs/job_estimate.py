"""The values of the estimate panel beside the form of a new job or sweep."""

from typing import Any

from cluster.domain.environments.choices import DEFAULT_NAME
from cluster.domain.errors import Refused
from cluster.domain.jobs.submission import (
    DEFAULT_ENVIRONMENT_ID,
    JobRequest,
    SubmissionPreview,
    SubmissionWarning,
)
from cluster.domain.sweeps.plan import SweepRequest
from cluster.services import datasets
from cluster.services.images.environment_choice import read_chosen
from cluster.services.queue.submission_preview import SweepPreview, preview_submission, preview_sweep
from cluster.store.datasets import Dataset
from cluster.store.trainings import Training
from portal.i18n.messages import localized_error, localized_sentence
from portal.presenters.jobs import job_commands, job_form
from portal.web.request_context import current_actor, current_cluster


def estimate_values(training: Training) -> dict[str, Any]:
    """The values of the estimate panel for the form as it was sent; `errors` if submitting it would be refused."""
    return {"value_counts": job_form.count_variable_values(), **submission_estimate(training)}


def submission_estimate(training: Training) -> dict[str, Any]:
    cluster, actor = current_cluster(), current_actor()
    try:
        submission_request = job_form.read_request(training)
        if isinstance(submission_request, SweepRequest):
            return sweep_estimate_values(
                training,
                submission_request,
                preview_sweep(cluster, actor, training.id, submission_request),
            )
        job_preview = preview_submission(cluster, actor, training.id, submission_request)
    except Refused as refusal:
        return {"errors": form_error_messages(refusal)}
    return {
        "job_request": submission_request,
        "jobs": 1,
        "command_line": job_commands.command_line(submission_request.command),
        "as_command": job_commands.job_command(
            training,
            submission_request,
            visible_dataset(submission_request),
            environment=named_environment(training, submission_request),
        ),
        "as_curl": job_commands.job_curl(cluster.settings.public_url, training, submission_request),
    } | first_job_estimate(job_preview, job_preview.warnings)


def sweep_estimate_values(
    training: Training, sweep_request: SweepRequest, sweep_preview: SweepPreview
) -> dict[str, Any]:
    """The jobs that the sweep would submit, and what would happen to the first one."""
    return {
        "job_request": sweep_request.job,
        "sweep": sweep_preview,
        "jobs": sweep_preview.plan.size,
        "command_line": job_commands.command_line(sweep_preview.command),
        "as_command": job_commands.sweep_command(
            training,
            sweep_request,
            visible_dataset(sweep_request.job),
            named_environment(training, sweep_request.job),
        ),
        "as_curl": job_commands.sweep_curl(current_cluster().settings.public_url, training, sweep_request),
    } | first_job_estimate(sweep_preview.first, sweep_preview.warnings)


def first_job_estimate(
    job_preview: SubmissionPreview, warnings: tuple[SubmissionWarning, ...]
) -> dict[str, Any]:
    return {
        "preview": job_preview,
        "explanation": job_preview.explanation,
        "warnings": [(warned.field, localized_sentence(warned.code, warned.data)) for warned in warnings],
    }


def form_error_messages(refusal: Refused) -> dict[str, str]:
    """Returns field of the form → message."""
    return {job_form.form_field_of(each): localized_error(each) for each in refusal.each}


def named_environment(training: Training, request: JobRequest) -> str:
    """The name of the environment in a command; empty for the environment of the training."""
    wanted, own = request.environment_id, training.environment_id or DEFAULT_ENVIRONMENT_ID
    if wanted is None or wanted == own:
        return ""
    chosen = read_chosen(current_cluster(), wanted)
    return chosen.name if chosen else DEFAULT_NAME


def visible_dataset(job_request: JobRequest) -> Dataset | None:
    if not job_request.dataset_id:
        return None
    return datasets.read_dataset(current_cluster(), current_actor(), job_request.dataset_id)
