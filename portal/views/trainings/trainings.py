"""Training pages: list, create from a built-in model or own code, show, upload a new code version."""

from flask import Blueprint, flash, redirect, render_template, request, url_for
from werkzeug.wrappers import Response

from cluster.domain.built_in_models import BUILT_IN_MODELS
from cluster.domain.errors import Refused
from cluster.domain.states import TrainingKind, Visibility
from cluster.services import code_uploads, code_versions, training_changes, trainings
from cluster.services.jobs import queries
from cluster.services.workspaces import queries as workspace_queries
from cluster.store.trainings import Training
from portal.i18n.translate import _
from portal.presenters.guidance.first_steps import happened
from portal.presenters.training_list import list_training_rows
from portal.web import forms, query_params, uploads
from portal.web.request_context import current_actor, current_cluster
from portal.web.responses.fragments import render_page_or_fragment

KINDS = tuple(kind.value for kind in TrainingKind)
VISIBILITIES = tuple(visibility.value for visibility in Visibility)
HIGHER, LOWER = "higher", "lower"
OBJECTIVE_FIELDS = ("objective_metric", "objective_order")
JOBS_SHOWN = 50
TO_THE_JOB = "job"
"""The value of the form's second button, whose answer leads to the form of the first job."""

PAGE_LENGTH = 50

blueprint = Blueprint("trainings", __name__)


@blueprint.get("/trainings")
def overall() -> Response:
    return render_list(None)


@blueprint.get("/workspaces/<int:workspace_id>/trainings")
def index(workspace_id: int) -> Response:
    return render_list(workspace_id)


def render_list(workspace_id: int | None) -> Response:
    """Renders the list of one workspace, or of all that the person may see, from `?before=` on (keyset)."""
    cluster, actor = current_cluster(), current_actor()
    workspace = workspace_queries.read_workspace(cluster, actor, workspace_id) if workspace_id else None
    before = query_params.id_param("before")
    archived = query_params.choice_param("shown", ("archived",)) == "archived"
    found = trainings.list_trainings(cluster, actor, workspace_id, before, PAGE_LENGTH + 1, archived)
    rows, next_before = query_params.split_page(found, PAGE_LENGTH)
    return render_page_or_fragment(
        "trainings/list.html",
        "trainings/_list.html",
        rows=list_training_rows(rows, actor.user_id, workspace is None),
        count=lambda: trainings.count_trainings(cluster, actor, workspace_id, archived),
        archived=archived,
        workspace=workspace,
        next_before=next_before,
        current_url_with=query_params.current_url_with,
    )


@blueprint.get("/workspaces/<int:workspace_id>/trainings/new")
def new(workspace_id: int) -> str:
    return render_new_training(workspace_id, {})


@blueprint.post("/workspaces/<int:workspace_id>/trainings/new")
def create(workspace_id: int) -> Response:
    try:
        training = create_from_form(workspace_id)
    except Refused as refusal:
        again = render_new_training(workspace_id, forms.error_messages(refusal))
        return Response(again, 422, mimetype="text/html")
    made = _("Training %(name)s is made.", name=training.name)
    if forms.text_field("then") == TO_THE_JOB and is_runnable(training):
        flash(made, "ok")
        return redirect(url_for("job_new.new", training_id=training.id), 303)
    if training.kind is TrainingKind.NOTEBOOK:
        flash(
            happened(made, url_for("notebooks.training", training_id=training.id), _("Open the notebook")),
            "ok",
        )
    else:
        flash(happened(made, url_for("job_new.new", training_id=training.id), _("Start a job")), "ok")
    return redirect(url_for("trainings.page", training_id=training.id), 303)


def is_runnable(training: Training) -> bool:
    """Whether the code can run. Code in an archive cannot until a task has unpacked it."""
    return training.kind is TrainingKind.BUILT_IN or training.code_version > 0


def create_from_form(workspace_id: int) -> Training:
    forms.require_known_fields(
        "kind", "name", "description", "model", "visibility", "members", "then", *OBJECTIVE_FIELDS
    )
    kind = TrainingKind(forms.choice_field("kind", KINDS))
    return trainings.create_training(
        current_cluster(),
        current_actor(),
        workspace_id,
        name=forms.text_field("name"),
        description=forms.text_field("description"),
        kind=kind,
        model=forms.text_field("model") or None if kind is TrainingKind.BUILT_IN else None,
        visibility=Visibility(forms.choice_field("visibility", VISIBILITIES)),
        code=uploads.read_code_files() if kind is not TrainingKind.BUILT_IN else [],
        member_names=forms.names_field("members"),
        objective=objective_field() or ("", False),
    )


def objective_field() -> tuple[str, bool] | None:
    """The metric (empty for none) and whether lower is better; None if the form has no such field. Raises Refused."""
    if "objective_metric" not in request.form:
        return None
    order = forms.choice_field("objective_order", (HIGHER, LOWER))
    return forms.text_field("objective_metric"), order == LOWER


def render_new_training(workspace_id: int, errors: dict[str, str]) -> str:
    return render_template(
        "trainings/new.html",
        workspace=workspace_queries.read_workspace(current_cluster(), current_actor(), workspace_id),
        models=list(BUILT_IN_MODELS.values()),
        kind=request.form.get("kind") or request.args.get("kind", TrainingKind.BUILT_IN.value),
        values=request.form,
        errors=errors,
    )


@blueprint.get("/trainings/<int:training_id>")
def page(training_id: int) -> Response:
    return render_training(training_id, {})


def render_training(training_id: int, errors: dict[str, str], status: int = 200) -> Response:
    cluster, actor = current_cluster(), current_actor()
    training = trainings.read_training(cluster, actor, training_id)
    is_own_code = training.kind is not TrainingKind.BUILT_IN
    return render_page_or_fragment(
        "trainings/page.html",
        f"trainings/_{query_params.choice_param('fragment', ('page', 'aside'), 'page')}.html",
        status,
        training=training,
        model=BUILT_IN_MODELS.get(training.model or ""),
        code=trainings.list_code_files(cluster, training),
        newest_code=next(iter(code_versions.list_code_versions(cluster, training)), None)
        if is_own_code
        else None,
        jobs=queries.list_jobs(cluster, actor, training_id=training_id, limit=JOBS_SHOWN),
        may_edit=training_changes.can_edit_training(actor, training),
        may_upload=is_own_code
        and training.archived_at is None
        and code_uploads.can_upload_code(actor, training),
        errors=errors,
    )
