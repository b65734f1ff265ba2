"""Pages of notebooks: the person's list, the start for a training, the page until it opens, and saving its files."""

from flask import Blueprint, flash, redirect, render_template, request, url_for
from flask import Response as FlaskResponse
from werkzeug.wrappers import Response

from cluster.domain.errors import Conflict, NotFound, Refused
from cluster.domain.states import TrainingKind
from cluster.services import trainings
from cluster.services.code_uploads import can_upload_code
from cluster.services.jobs.stop_requests import can_stop_job
from cluster.services.notebooks import entries, kept_packages, notebook_rows, use, working_copies
from cluster.services.notebooks.start import start_notebook
from cluster.services.people.access import can_change_workspace
from cluster.store.trainings import Training
from portal.i18n.translate import _
from portal.presenters.notebook_page import read_notebook_page
from portal.response_headers import CONTENT_SECURITY_POLICY
from portal.web import forms
from portal.web.request_context import current_actor, current_cluster
from portal.web.responses.fragments import render_page_or_fragment
from portal.web.session_cookie import current_session_cookie

TO_THE_JOB = "job"
"""The value of the second button. Its answer leads to the form of a job that runs the saved version."""
OPENING = "1"

blueprint = Blueprint("notebooks", __name__)


@blueprint.get("/notebooks")
def index() -> Response:
    return render_page_or_fragment(
        "notebooks/list.html",
        "notebooks/_list.html",
        notebooks=notebook_rows.list_own_notebooks(current_cluster(), current_actor()),
    )


@blueprint.get("/trainings/<int:training_id>/notebook")
def training(training_id: int) -> Response:
    return render_training(training_id, {})


@blueprint.post("/trainings/<int:training_id>/notebook")
def start(training_id: int) -> Response:
    try:
        forms.require_known_fields("time_limit", "dataset")
        job = start_notebook(
            current_cluster(),
            current_actor(),
            training_id,
            forms.duration_field("time_limit", "m"),
            forms.id_field("dataset"),
        )
    except Refused as refusal:
        return render_training(training_id, forms.error_messages(refusal), 422)
    return redirect(url_for("notebooks.page", job_id=job.id, open=OPENING), 303)


def render_training(training_id: int, errors: dict[str, str], status: int = 200, **more: object) -> Response:
    cluster, actor = current_cluster(), current_actor()
    found = trainings.read_training(cluster, actor, training_id)
    if found.kind is TrainingKind.BUILT_IN:
        raise NotFound("notebook")
    copy = working_copies.read_working_copy(cluster, actor, training_id)
    may_save = found.archived_at is None and can_upload_code(actor, found)
    in_image = cluster.settings.executor.capabilities.has_environment_in_image
    page = render_template(
        "notebooks/training.html",
        training=found,
        copy=copy,
        living=find_living(found),
        packages=working_copies.list_packages(cluster, found, actor.user_id) if copy else [],
        may_save=may_save,
        may_ask=may_save and not in_image,
        in_image=in_image,
        asks_manager=not can_change_workspace("environment.create", actor, found.workspace),
        idle_limit=cluster.settings.notebook_idle_limit,
        errors=errors,
        newer=more.get("newer"),
    )
    return FlaskResponse(page, status, mimetype="text/html")


def find_living(found: Training) -> int | None:
    """The job of the person's notebook of this training that has not ended."""
    own = notebook_rows.list_own_notebooks(current_cluster(), current_actor())
    return next((state.job.id for state in own if state.job.training_id == found.id), None)


@blueprint.post("/trainings/<int:training_id>/notebook/save")
def save(training_id: int) -> Response:
    """Makes the working copy the newest version. A newer version of another person is replaced only on request."""
    try:
        forms.require_known_fields("then", "overwrite")
        overwrite = bool(request.form.get("overwrite"))
        saved = working_copies.save_as_version(current_cluster(), current_actor(), training_id, overwrite)
    except Refused as refusal:
        return render_training(training_id, forms.error_messages(refusal), 422)
    except Conflict as conflict:
        if conflict.code != "notebook.newer_version":
            raise
        return render_training(training_id, {}, 409, newer=conflict.data)
    if saved.is_new:
        flash(_("Your files are saved as version %(version)s.", version=saved.version), "ok")
    else:
        flash(
            _("Nothing to save: your files are the same as version %(version)s.", version=saved.version), "ok"
        )
    if forms.text_field("then") == TO_THE_JOB:
        return redirect(url_for("job_new.new", training_id=training_id), 303)
    return redirect(url_for("notebooks.training", training_id=training_id), 303)


@blueprint.post("/trainings/<int:training_id>/notebook/environment")
def ask_for_environment(training_id: int) -> Response:
    """Requests an environment with the person's own packages of this training, which a manager has to approve."""
    try:
        forms.require_known_fields("name")
        name = forms.text_field("name")
        made = kept_packages.ask_for_environment(current_cluster(), current_actor(), training_id, name)
    except Refused as refusal:
        return render_training(training_id, forms.error_messages(refusal), 422)
    return redirect(url_for("environments.page", environment_id=made.id), 303)


@blueprint.get("/jobs/<int:job_id>/notebook")
def page(job_id: int) -> Response:
    """The notebook's state, its events, and the way in. With `?open=1` it opens by itself once it is ready."""
    cluster, actor = current_cluster(), current_actor()
    state = notebook_rows.read_notebook(cluster, actor, job_id)
    response = render_page_or_fragment(
        "notebooks/page.html",
        "notebooks/_page.html",
        state=state,
        view=read_notebook_page(cluster, actor, state),
        job=state.job,
        is_own=state.job.user_id == actor.user_id,
        may_stop=can_stop_job(actor, state.job) and state.is_live,
        opens_itself=request.args.get("open") == OPENING,
    )
    # The button leads to the notebook's own address.
    origin = cluster.settings.notebooks.origin(job_id)
    policy = CONTENT_SECURITY_POLICY.replace("form-action 'self'", f"form-action 'self' {origin}")
    response.headers["Content-Security-Policy"] = policy
    return response


@blueprint.post("/jobs/<int:job_id>/notebook/open")
def open_(job_id: int) -> Response:
    cluster = current_cluster()
    try:
        token = request.cookies.get(current_session_cookie(), "")
        ticket = entries.issue_ticket(cluster, current_actor(), job_id, token)
    except Conflict:
        return redirect(url_for("notebooks.page", job_id=job_id), 303)
    return redirect(cluster.settings.notebooks.url(job_id, f"groundcrew-enter?ticket={ticket}"), 303)


@blueprint.post("/jobs/<int:job_id>/notebook/keep")
def keep(job_id: int) -> Response:
    use.keep_notebook(current_cluster(), current_actor(), job_id)
    flash(_("The notebook is kept; its idle time begins anew."), "ok")
    return redirect(url_for("notebooks.page", job_id=job_id), 303)
