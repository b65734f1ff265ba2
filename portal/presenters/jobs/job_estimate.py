"""The values of the estimate panel beside the form of a new job or sweep."""

from typing import Any

from cluster.domain.errors import Refused
from cluster.domain.jobs.submission import JobRequest, SubmissionPreview, SubmissionWarning
from cluster.domain.queue.reasons import to_waiting_data
from cluster.domain.sweeps.plan import SweepRequest
from cluster.services import datasets
from cluster.services.jobs import preview
from cluster.services.sweeps.submission import SweepPreview, preview_sweep
from cluster.store.datasets import Dataset
from cluster.store.trainings import Training
from portal.i18n.messages import localized_sentence
from portal.presenters.jobs import job_commands, job_form
from portal.web.request_context import current_actor, current_cluster


def estimate_values(training: Training) -> dict[str, Any]:
    """The values of the estimate panel for the form as it was sent; `errors` if submitting it would be refused."""
    cluster, actor = current_cluster(), current_actor()
    try:
        submission_request = job_form.read_job_form(training)
        if isinstance(submission_request, SweepRequest):
            return sweep_estimate_values(
                training,
                submission_request,
                preview_sweep(cluster, actor, training.id, submission_request),
            )
        submission_preview = preview.preview_submission(cluster, actor, training.id, submission_request)
    except Refused as refusal:
        return {"errors": form_error_messages(refusal)}
    return {
        "job_request": submission_request,
        "jobs": 1,
        "command": submission_request.command,
        "as_command": job_commands.job_command(
            training, submission_request, visible_dataset(submission_request)
        ),
        "as_curl": job_commands.job_curl(cluster.settings.public_url, training, submission_request),
    } | first_job_estimate(submission_preview, submission_preview.warnings)


def sweep_estimate_values(
    training: Training, sweep_request: SweepRequest, sweep_preview: SweepPreview
) -> dict[str, Any]:
    """The list that would be made, and what would happen to its first job."""
    return {
        "job_request": sweep_request.job,
        "sweep": sweep_preview,
        "jobs": sweep_preview.plan.size,
        "command": sweep_preview.command,
        "as_command": job_commands.sweep_command(training, sweep_request, visible_dataset(sweep_request.job)),
        "as_curl": job_commands.sweep_curl(current_cluster().settings.public_url, training, sweep_request),
    } | first_job_estimate(sweep_preview.first, sweep_preview.warnings)


def first_job_estimate(
    submission_preview: SubmissionPreview, warnings: tuple[SubmissionWarning, ...]
) -> dict[str, Any]:
    return {
        "preview": submission_preview,
        "code": submission_preview.reason.code if submission_preview.reason else None,
        "data": to_waiting_data(submission_preview.reason, submission_preview.outlook)
        if submission_preview.reason
        else {},
        "warnings": [(warned.field, localized_sentence(warned.code, warned.data)) for warned in warnings],
    }


def visible_dataset(job_request: JobRequest) -> Dataset | None:
    if not job_request.dataset_id:
        return None
    return datasets.read_dataset(current_cluster(), current_actor(), job_request.dataset_id)


def form_error_messages(refusal: Refused) -> dict[str, str]:
    return {job_form.form_field_of(refusal): localized_sentence(refusal.code, refusal.data)}
