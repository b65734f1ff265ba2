"""The git source of a training: address, branch and credential, and the pull that makes the next version."""

from flask import Blueprint, flash, redirect, request, url_for
from werkzeug.wrappers import Response

from cluster.domain.errors import Conflict, Refused
from cluster.domain.states import GitCredential
from cluster.services import code_uploads
from cluster.services.git import git_sources
from cluster.services.git.git_sources import GitSourceChoice
from cluster.store.trainings import Training
from portal.i18n.translate import _
from portal.presenters.code.git_source_panel import GitSourcePanel, read_git_source_panel
from portal.views.trainings.training_code import read_own_code
from portal.web import forms
from portal.web.request_context import current_actor, current_cluster
from portal.web.responses.fragments import render_page_or_fragment

FIELDS = (
    "url",
    "reference",
    "folder",
    "credential",
    "user_name",
    "token",
    "private_key",
    "makes_new_key",
    "then",
)

blueprint = Blueprint("git_source", __name__)


@blueprint.app_template_global("read_git_panel")
def read_git_panel(training: Training) -> GitSourcePanel:
    """The panel that the page of a training shows beside its code."""
    return read_git_source_panel(current_cluster(), training)


@blueprint.get("/trainings/<int:training_id>/code/git")
def page(training_id: int) -> Response:
    return render_source(training_id, {})


def render_source(training_id: int, errors: dict[str, str], status: int = 200) -> Response:
    cluster, actor = current_cluster(), current_actor()
    training = read_own_code(training_id)
    panel = read_git_source_panel(cluster, training)
    source = panel.source
    kept = {
        "url": source.url if source else "",
        "reference": source.reference if source else "",
        "folder": source.folder if source else "",
        "credential": source.credential.value if source else GitCredential.NONE.value,
        "user_name": source.user_name if source else "",
    }
    typed = {name: request.form[name] for name in kept if name in request.form}
    return render_page_or_fragment(
        "git_source/page.html",
        "git_source/_status.html",
        status,
        training=training,
        git=panel,
        values=kept | typed,
        may_change=code_uploads.can_upload_code(actor, training) and training.archived_at is None,
        errors=errors,
    )


@blueprint.post("/trainings/<int:training_id>/code/git")
def save(training_id: int) -> Response:
    """`then=fetch` fetches at once. The page then shows the public key, which the person adds to the repository."""
    cluster, actor = current_cluster(), current_actor()
    try:
        forms.require_known_fields(*FIELDS)
        choice = read_choice()
        git_sources.set_source(cluster, actor, training_id, choice)
        if forms.text_field("then") == "fetch":
            git_sources.request_fetch(cluster, actor, training_id)
    except (Refused, Conflict) as refusal:
        return render_source(training_id, forms.error_messages(refusal), 422)
    flash(_("The git source is set."), "ok")
    return redirect(url_for("git_source.page", training_id=training_id), 303)


def read_choice() -> GitSourceChoice:
    """Reads the form. An empty field keeps the token or key, because pages never show it again. Raises Refused."""
    return GitSourceChoice(
        forms.text_field("url"),
        forms.text_field("reference"),
        forms.text_field("folder"),
        GitCredential(forms.choice_field("credential", tuple(GitCredential))),
        forms.text_field("user_name"),
        forms.password_field("token"),
        forms.password_field("private_key"),
        bool(forms.text_field("makes_new_key")),
    )


@blueprint.post("/trainings/<int:training_id>/code/git/fetch")
def fetch(training_id: int) -> Response:
    """Requests a fetch by a task. The page shows its steps and its end."""
    try:
        git_sources.request_fetch(current_cluster(), current_actor(), training_id)
    except (Refused, Conflict) as refusal:
        return render_source(training_id, forms.error_messages(refusal), 422)
    return redirect(url_for("git_source.page", training_id=training_id), 303)


@blueprint.post("/trainings/<int:training_id>/code/git/remove")
def remove(training_id: int) -> Response:
    """Deletes the address and its secret. Versions that came from it stay."""
    git_sources.remove_source(current_cluster(), current_actor(), training_id)
    flash(_("The git source is removed; its versions stay."), "ok")
    return redirect(url_for("training_code.page", training_id=training_id), 303)
