"""The form of a new job or sweep, its estimate while it is filled in, and the submission."""

from collections.abc import Mapping
from typing import Any

from flask import Blueprint, redirect, render_template, request, url_for
from werkzeug.datastructures import MultiDict
from werkzeug.wrappers import Response

from cluster.domain.errors import NotFound, Refused
from cluster.domain.jobs.submission import JobRequest, SubmissionPreview, SubmissionWarning
from cluster.domain.queue.reasons import to_waiting_data
from cluster.domain.states import DatasetState
from cluster.domain.sweeps.plan import MAX_SWEEP_JOBS, SweepRequest
from cluster.services import datasets, trainings
from cluster.services.jobs import preview, queries
from cluster.services.jobs import submission as jobs
from cluster.services.sweeps import submission as sweeps
from cluster.services.sweeps.submission import SweepPreview
from cluster.services.workspaces import queries as workspace_queries
from cluster.store.datasets import Dataset
from cluster.store.trainings import Training
from portal.i18n.messages import localized_sentence
from portal.presenters import job_commands, job_form
from portal.web import query_params
from portal.web.request_context import current_actor, current_cluster

blueprint = Blueprint("job_new", __name__)


@blueprint.get("/trainings/<int:training_id>/jobs/new")
def new(training_id: int) -> str:
    """`?before=<job id>` fills it in as that job was, `?units=` with another number of units."""
    training = visible_training(training_id)
    values = job_form.default_values(training)
    if before := query_params.id_param("before"):
        job = queries.read_job(current_cluster(), current_actor(), before)
        if job.training_id != training_id:
            raise NotFound("job", before)
        values |= job_form.values_from_job(job)
    values |= {"units": query_params.id_param("units") or values["units"]}
    if training.model and not values.get("dataset"):
        ready = [
            dataset for dataset in list_workspace_datasets(training) if dataset.state is DatasetState.READY
        ]
        values |= {"dataset": ready[0].id if ready else ""}
    return render_job_form(training, values, {}, {})


@blueprint.post("/trainings/<int:training_id>/jobs/new")
def create(training_id: int) -> Response:
    """With the button "Check" (for browsers without scripts) it only says what would happen."""
    training = visible_training(training_id)
    if "check" in request.form:
        estimate = estimate_values(training)
        return html_response(render_job_form(training, request.form, estimate.get("errors", {}), estimate))
    try:
        return redirect(create_job_or_sweep(training_id, job_form.read_job_form(training)), 303)
    except Refused as refusal:
        errors = form_error_messages(refusal)
        return html_response(render_job_form(training, request.form, errors, {"errors": errors}), 422)


def create_job_or_sweep(training_id: int, wanted: JobRequest | SweepRequest) -> str:
    """Makes a job or a sweep; the address of its page."""
    cluster, actor = current_cluster(), current_actor()
    if isinstance(wanted, SweepRequest):
        sweep = sweeps.submit_sweep(cluster, actor, training_id, wanted)
        return url_for("sweeps.page", sweep_id=sweep.id)
    return url_for("jobs.page", job_id=jobs.submit_job(cluster, actor, training_id, wanted).id)


@blueprint.post("/trainings/<int:training_id>/jobs/check")
def check(training_id: int) -> str:
    """The estimate alone, asked for while the form is filled in; a refusal is an answer here, not an error."""
    training = visible_training(training_id)
    return render_template(
        "jobs/_estimate.html", training=training, is_live=True, estimate=estimate_values(training)
    )


def html_response(text: str, status: int = 200) -> Response:
    return Response(text, status, mimetype="text/html")


def visible_training(training_id: int) -> Training:
    return trainings.read_training(current_cluster(), current_actor(), training_id)


def estimate_values(training: Training) -> dict[str, Any]:
    """The values of the estimate panel for the form as it was sent; `errors` if submitting it would be refused."""
    cluster, actor = current_cluster(), current_actor()
    try:
        asked = job_form.read_job_form(training)
        if isinstance(asked, SweepRequest):
            return sweep_estimate_values(
                training, asked, sweeps.preview_sweep(cluster, actor, training.id, asked)
            )
        found = preview.preview_submission(cluster, actor, training.id, asked)
    except Refused as refusal:
        return {"errors": form_error_messages(refusal)}
    return {
        "asked": asked,
        "jobs": 1,
        "command": asked.command,
        "as_command": job_commands.job_command(training, asked, visible_dataset(asked)),
        "as_curl": job_commands.job_curl(cluster.settings.public_url, training, asked),
    } | first_job_estimate(found, found.warnings)


def sweep_estimate_values(training: Training, asked: SweepRequest, found: SweepPreview) -> dict[str, Any]:
    """The list that would be made, and what would happen to its first job."""
    return {
        "asked": asked.job,
        "sweep": found,
        "jobs": found.plan.size,
        "command": found.command,
        "as_command": job_commands.sweep_command(training, asked, visible_dataset(asked.job)),
        "as_curl": job_commands.sweep_curl(current_cluster().settings.public_url, training, asked),
    } | first_job_estimate(found.first, found.warnings)


def first_job_estimate(found: SubmissionPreview, warnings: tuple[SubmissionWarning, ...]) -> dict[str, Any]:
    return {
        "found": found,
        "code": found.reason.code if found.reason else None,
        "data": to_waiting_data(found.reason, found.outlook) if found.reason else {},
        "warnings": [(warned.field, localized_sentence(warned.code, warned.data)) for warned in warnings],
    }


def visible_dataset(asked: JobRequest) -> Dataset | None:
    if not asked.dataset_id:
        return None
    return datasets.read_dataset(current_cluster(), current_actor(), asked.dataset_id)


def form_error_messages(refusal: Refused) -> dict[str, str]:
    return {job_form.form_field_of(refusal): localized_sentence(refusal.code, refusal.data)}


def render_job_form(
    training: Training, values: Mapping[str, Any], errors: Mapping[str, str], estimate: Mapping[str, Any]
) -> str:
    cluster = current_cluster()
    return render_template(
        "jobs/new.html",
        training=training,
        model=job_form.model_of(training),
        code=trainings.list_code_files(cluster, training),
        datasets=selectable_datasets(list_workspace_datasets(training)),
        in_use=workspace_queries.read_units_in_use_of(cluster, [training.workspace_id]).get(
            training.workspace_id, 0
        ),
        launchers=job_form.LAUNCHERS,
        most_jobs=MAX_SWEEP_JOBS,
        values=values,
        ticked=values_by_field(values),
        errors=errors,
        estimate=estimate,
        is_live=False,
    )


def values_by_field(values: Mapping[str, Any]) -> dict[str, list[str]]:
    """By field: all values of one that came several times."""
    if isinstance(values, MultiDict):
        return {name: values.getlist(name) for name in values}
    return {name: [str(value)] for name, value in values.items()}


def list_workspace_datasets(training: Training) -> list[Dataset]:
    return datasets.list_datasets(current_cluster(), current_actor(), workspace_id=training.workspace_id)


def selectable_datasets(rows: list[Dataset]) -> list[Dataset]:
    """One that is still being prepared may be chosen: the job waits for it. A failed one may not."""
    return [dataset for dataset in rows if dataset.state is not DatasetState.FAILED]
