"""The form of a new job or sweep, its estimate while it is filled in, and the submission."""

from collections.abc import Mapping
from typing import Any

from flask import Blueprint, redirect, render_template, request, url_for
from werkzeug.wrappers import Response

from cluster.domain.errors import NotFound, Refused
from cluster.domain.jobs.submission import JobRequest
from cluster.domain.sweeps.plan import MAX_SWEEP_JOBS, SweepRequest
from cluster.services import datasets, trainings
from cluster.services.jobs import queries, submission
from cluster.services.sweeps.submission import submit_sweep
from cluster.services.workspaces import queries as workspace_queries
from cluster.store.trainings import Training
from portal.presenters.jobs import filled_forms, job_estimate, job_form, job_script
from portal.web import forms, query_params
from portal.web.request_context import current_actor, current_cluster

blueprint = Blueprint("job_new", __name__)


@blueprint.get("/trainings/<int:training_id>/jobs/new")
def new(training_id: int) -> str:
    """`?before=<job id>` fills it in as that job was, `?longer=3` with three times the epochs; `?sweep=<sweep id>` as
    that sweep was. `?units=`, `?dataset=` and `?code_version=` are other values to begin with."""
    training = visible_training(training_id)
    values = job_form.default_values(training)
    if before := query_params.id_param("before"):
        job = queries.read_job(current_cluster(), current_actor(), before)
        if job.training_id != training_id:
            raise NotFound("job", before)
        values |= job_form.values_from_job(job)
        if longer := query_params.id_param("longer"):
            values = filled_forms.make_longer(values, longer)
    if sweep_id := query_params.id_param("sweep"):
        return render_job_form(training, filled_forms.read_sweep_values(training, sweep_id), {}, {})
    values |= {"units": query_params.id_param("units") or values["units"]}
    if chosen := query_params.id_param("dataset"):
        values |= {"dataset": chosen}
    if version := query_params.id_param("code_version"):
        values |= {"code_version": version}
    if training.model and not values.get("dataset"):
        ready = datasets.first_ready_dataset(
            datasets.list_datasets(current_cluster(), current_actor(), training.workspace_id)
        )
        values |= {"dataset": ready.id if ready else ""}
    return render_job_form(training, values, {}, {})


@blueprint.post("/trainings/<int:training_id>/jobs/new")
def create(training_id: int) -> Response:
    """Makes the jobs. With the button "Check" (for browsers without scripts) it only shows what would happen."""
    training = visible_training(training_id)
    if "check" in request.form:
        estimate = job_estimate.estimate_values(training)
        return html_response(render_job_form(training, request.form, estimate.get("errors", {}), estimate))
    try:
        return redirect(create_job_or_sweep(training_id, job_form.read_request(training)), 303)
    except Refused as refusal:
        errors = job_estimate.form_error_messages(refusal)
        return html_response(render_job_form(training, request.form, errors, {"errors": errors}), 422)


def create_job_or_sweep(training_id: int, submission_request: JobRequest | SweepRequest) -> str:
    """Makes a job or a sweep, and returns the address of its page."""
    cluster, actor = current_cluster(), current_actor()
    if isinstance(submission_request, SweepRequest):
        sweep = submit_sweep(cluster, actor, training_id, submission_request)
        return url_for("sweeps.page", sweep_id=sweep.id)
    return url_for(
        "jobs.page", job_id=submission.submit_job(cluster, actor, training_id, submission_request).id
    )


@blueprint.post("/trainings/<int:training_id>/jobs/check")
def check(training_id: int) -> str:
    """Renders the estimate alone, while the form is filled in. A refusal is an answer here, not an error."""
    training = visible_training(training_id)
    return render_template(
        "jobs/_estimate.html",
        training=training,
        model=job_form.model_of(training),
        is_live=True,
        estimate=job_estimate.estimate_values(training),
    )


@blueprint.post("/trainings/<int:training_id>/jobs/script")
def script(training_id: int) -> str:
    """Renders the choice of the script alone, after another version of the code was chosen."""
    training = visible_training(training_id)
    return render_template(
        "jobs/_script.html",
        training=training,
        choice=job_script.choose_script(training, request.form, is_version_new=True),
        errors={},
    )


def html_response(text: str, status: int = 200) -> Response:
    return Response(text, status, mimetype="text/html")


def visible_training(training_id: int) -> Training:
    return trainings.read_training(current_cluster(), current_actor(), training_id)


def render_job_form(
    training: Training, values: Mapping[str, Any], errors: Mapping[str, str], estimate: Mapping[str, Any]
) -> str:
    cluster = current_cluster()
    chosen = job_script.offered_environments(cluster, training, values)
    return render_template(
        "jobs/new.html",
        environments=chosen.options,
        training=training,
        model=job_form.model_of(training),
        choice=None if training.model else job_script.choose_script(training, values),
        datasets=datasets.selectable_datasets(
            datasets.list_datasets(current_cluster(), current_actor(), training.workspace_id)
        ),
        in_use=workspace_queries.read_units_in_use_of(cluster, [training.workspace_id]).get(
            training.workspace_id, 0
        ),
        launchers=job_script.offered_launchers(cluster, str(values.get("launcher", "")), chosen.environments),
        most_jobs=MAX_SWEEP_JOBS,
        values=values,
        ticked=forms.values_by_field(values),
        errors=errors,
        estimate=estimate,
        is_live=False,
    )
