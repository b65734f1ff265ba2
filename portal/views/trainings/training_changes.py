"""Edit, hand over, archive and delete a training."""

from flask import Blueprint, flash, redirect, render_template, request, url_for
from werkzeug.wrappers import Response

from cluster.domain.errors import Refused
from cluster.domain.jobs.submission import DEFAULT_ENVIRONMENT_ID
from cluster.domain.people.permissions import require_permission
from cluster.domain.states import Visibility
from cluster.services import training_changes, trainings
from cluster.services.people.access import training_relation
from cluster.services.training_changes import TrainingChanges
from portal.i18n.translate import _
from portal.presenters.environments.environment_choice import environment_options
from portal.views.trainings.trainings import HIGHER, LOWER, OBJECTIVE_FIELDS, VISIBILITIES, objective_field
from portal.web import forms
from portal.web.request_context import current_actor, current_cluster

blueprint = Blueprint("training_changes", __name__)


@blueprint.get("/trainings/<int:training_id>/edit")
def edit(training_id: int) -> str:
    return render_edit(training_id, {})


def render_edit(training_id: int, errors: dict[str, str]) -> str:
    cluster, actor = current_cluster(), current_actor()
    training = trainings.read_training(cluster, actor, training_id)
    require_permission("training.edit", training_relation(actor, training), training_id)
    members = [member.name for member in training.members if member.id != training.owner_id]
    saved = {
        "name": training.name,
        "description": training.description,
        "visibility": training.visibility.value,
        "members": ", ".join(members),
        "owner": "",
        "objective_metric": training.objective_metric or "",
        "objective_order": LOWER if training.objective_is_lower_better else HIGHER,
        "environment": str(training.environment_id or DEFAULT_ENVIRONMENT_ID),
    }
    values = saved | request.form.to_dict()
    return render_template(
        "training_changes/edit.html",
        training=training,
        values=values,
        environments=environment_options(cluster, training.workspace_id, values["environment"]).options,
        errors=errors,
    )


@blueprint.post("/trainings/<int:training_id>/edit")
def save(training_id: int) -> Response:
    try:
        forms.require_known_fields(
            "name", "description", "visibility", "members", "environment", *OBJECTIVE_FIELDS
        )
        changes = TrainingChanges(
            forms.text_field("name"),
            forms.text_field("description"),
            Visibility(forms.choice_field("visibility", VISIBILITIES)),
            forms.names_field("members"),
            objective_field(),
            forms.id_field("environment"),
        )
        training_changes.edit_training(current_cluster(), current_actor(), training_id, changes)
    except Refused as refusal:
        return refuse_edit(training_id, refusal)
    flash(_("The changes are saved."), "ok")
    return go_to_training(training_id)


def refuse_edit(training_id: int, refusal: Refused) -> Response:
    return Response(render_edit(training_id, forms.error_messages(refusal)), 422, mimetype="text/html")


def go_to_training(training_id: int) -> Response:
    return redirect(url_for("trainings.page", training_id=training_id), 303)


@blueprint.post("/trainings/<int:training_id>/hand-over")
def hand_over(training_id: int) -> Response:
    try:
        forms.require_known_fields("owner")
        owner = forms.text_field("owner")
        training = training_changes.hand_over_training(current_cluster(), current_actor(), training_id, owner)
    except Refused as refusal:
        return refuse_edit(training_id, refusal)
    flash(_("%(name)s belongs to %(owner)s now.", name=training.name, owner=owner), "ok")
    return go_to_training(training_id)


@blueprint.post("/trainings/<int:training_id>/archive")
def archive(training_id: int) -> Response:
    training = training_changes.archive_training(current_cluster(), current_actor(), training_id)
    flash(_("%(name)s is archived. It takes no new jobs.", name=training.name), "ok")
    return go_to_training(training_id)


@blueprint.post("/trainings/<int:training_id>/unarchive")
def unarchive(training_id: int) -> Response:
    training = training_changes.archive_training(
        current_cluster(), current_actor(), training_id, archived=False
    )
    flash(_("%(name)s takes jobs again.", name=training.name), "ok")
    return go_to_training(training_id)


@blueprint.get("/trainings/<int:training_id>/delete")
def confirm_delete(training_id: int) -> str:
    return render_delete(training_id, {})


def render_delete(training_id: int, errors: dict[str, str]) -> str:
    """Shows what is deleted and what stays, counted. There is no button while a job is live."""
    cluster, actor = current_cluster(), current_actor()
    training = trainings.read_training(cluster, actor, training_id)
    return render_template(
        "training_changes/delete.html",
        training=training,
        dependents=training_changes.read_dependents(cluster, training),
        may_delete=training_changes.can_delete_training(actor, training),
        errors=errors,
    )


@blueprint.post("/trainings/<int:training_id>/delete")
def delete(training_id: int) -> Response:
    try:
        forms.require_known_fields("job_files")
        training = training_changes.delete_training(
            current_cluster(), current_actor(), training_id, forms.text_field("job_files") == "1"
        )
    except Refused as refusal:
        again = render_delete(training_id, forms.error_messages(refusal))
        return Response(again, 422, mimetype="text/html")
    flash(_("Training %(name)s is deleted.", name=training.name), "ok")
    return redirect(url_for("trainings.index", workspace_id=training.workspace_id), 303)
