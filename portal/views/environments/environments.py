"""Environment pages: list, add from a requirements file, show, change who may choose it, build again and delete."""

from collections.abc import Sequence

from flask import Blueprint, flash, redirect, render_template, request, url_for
from werkzeug.wrappers import Response

from cluster.domain.environments.requirements import FIELD, MAX_BYTES
from cluster.domain.errors import Conflict, Refused
from cluster.domain.refusals import Refusals
from cluster.domain.states import EnvironmentSource
from cluster.services.images import (
    environment_approvals,
    environment_builds,
    environment_deletion,
    environment_list,
    environment_requests,
    environment_scope,
    environment_use,
)
from cluster.services.images.environment_rows import EnvironmentRequest
from cluster.services.repairs.catalogue import can_request_repair
from portal.i18n.translate import _
from portal.presenters.environments import environment_pages
from portal.web import forms, uploads
from portal.web.request_context import current_actor, current_cluster
from portal.web.responses.fragments import render_page_or_fragment

blueprint = Blueprint("environments", __name__)

FIELDS = ("name", "description", "requirements", "python", "builds_sources", "scope", "workspaces")
GLOBAL, SOME = "global", "workspaces"
SCOPES = (GLOBAL, SOME)
RESTORE = "restore-default-images"


@blueprint.get("/environments")
def index() -> Response:
    cluster, actor = current_cluster(), current_actor()
    rows = environment_list.list_environments(cluster, actor)
    scopes = environment_list.read_scopes(cluster, actor, rows)
    has_images = any(row.source == EnvironmentSource.IMAGE for row in rows)
    return render_page_or_fragment(
        "environments/list.html",
        "environments/_list.html",
        rows=[environment_pages.environment_row(row, scopes[row.id]) for row in rows],
        uses=environment_use.read_use_counts(cluster),
        site_image=cluster.settings.kubernetes_image or cluster.settings.docker_image,
        may_add=environment_pages.can_add(cluster, actor),
        may_upload=actor.is_administrator,
        restore=RESTORE if has_images and can_request_repair(cluster, actor, RESTORE) else None,
    )


@blueprint.get("/images")
def images() -> Response:
    """The address of the page that was about images alone."""
    return redirect(url_for("environments.index"), 308)


@blueprint.get("/environments/new")
def new() -> str:
    values = forms.read_prefilled(FIELDS)
    return render_new(values, {})


def render_new(values: dict[str, str], errors: dict[str, str]) -> str:
    cluster, actor = current_cluster(), current_actor()
    environment_requests.require_own_builds(cluster)
    return render_template(
        "environments/new.html",
        values={"scope": GLOBAL if actor.is_administrator else SOME} | values,
        chosen=request.form.getlist("workspaces"),
        workspaces=environment_pages.offered_workspaces(cluster, actor),
        may_be_global=actor.is_administrator,
        may_build_sources=environment_pages.can_build_sources(cluster),
        errors=errors,
    )


@blueprint.post("/environments/new")
def create() -> Response:
    cluster, actor = current_cluster(), current_actor()
    refusals = Refusals()
    try:
        refusals.check(forms.require_known_fields, *FIELDS)
        wanted = EnvironmentRequest(
            name=refusals.check(forms.text_field, "name") or "",
            requirements=refusals.check(read_requirements) or "",
            description=refusals.check(forms.text_field, "description") or "",
            python=refusals.check(forms.text_field, "python") or "",
            builds_sources=bool(refusals.check(forms.text_field, "builds_sources")),
            workspace_ids=refusals.check(read_scope) or (),
        )
        refusals.raise_all()
        environment = environment_requests.add_environment(cluster, actor, wanted)
    except Refused as refusal:
        errors = forms.error_messages_with_suggestion(refusal, "environments.new")
        return Response(render_new(request.form.to_dict(), errors), 422, mimetype="text/html")
    return redirect(url_for("environments.page", environment_id=environment.id), 303)


def read_requirements() -> str:
    """Returns the uploaded file if there is one, else the pasted text. Raises Refused."""
    sent = request.files.get("file")
    if sent is None or not sent.filename:
        return request.form.get("requirements", "")
    text = uploads.read_text(sent, MAX_BYTES)
    if text is None:
        raise Refused(FIELD, "environment.requirements_not_text", most=MAX_BYTES)
    return text


def read_scope() -> Sequence[int]:
    """Returns the chosen workspaces; none for a global environment. Raises Refused."""
    if forms.choice_field("scope", SCOPES) == GLOBAL:
        return ()
    ids = forms.ids_field("workspaces")
    if not ids:
        raise Refused("workspaces", "environment.scope_missing")
    return ids


@blueprint.get("/environments/<int:environment_id>")
def page(environment_id: int) -> Response:
    return Response(render_page(environment_id, {}), mimetype="text/html")


def render_page(environment_id: int, errors: dict[str, str]) -> str:
    cluster, actor = current_cluster(), current_actor()
    environment = environment_list.read_environment(cluster, actor, environment_id)
    answer: Response = render_page_or_fragment(
        "environments/page.html",
        "environments/_page.html",
        environment=environment,
        use=environment_use.read_use(cluster, actor, environment_id),
        shown=environment_pages.environment_page(cluster, actor, environment),
        workspaces=environment_pages.offered_workspaces(cluster, actor),
        may_be_global=actor.is_administrator,
        chosen=request.form.getlist("workspaces")
        or [str(workspace.id) for workspace in environment.workspaces],
        errors=errors,
    )
    return answer.get_data(as_text=True)


@blueprint.post("/environments/<int:environment_id>/scope")
def change_scope(environment_id: int) -> Response:
    environment_scope.require_change(current_cluster(), current_actor(), environment_id)
    try:
        forms.require_known_fields("scope", "workspaces", "description")
        environment = environment_scope.change_scope(
            current_cluster(), current_actor(), environment_id, read_scope(), forms.text_field("description")
        )
    except Refused as refusal:
        text = render_page(environment_id, forms.error_messages(refusal))
        return Response(text, 422, mimetype="text/html")
    flash(_("The changes are saved."), "ok")
    return go_to(environment.id)


def go_to(environment_id: int) -> Response:
    return redirect(url_for("environments.page", environment_id=environment_id), 303)


@blueprint.post("/environments/<int:environment_id>/rebuild")
def rebuild(environment_id: int) -> Response:
    environment_builds.rebuild_environment(current_cluster(), current_actor(), environment_id)
    return go_to(environment_id)


@blueprint.post("/environments/<int:environment_id>/approve")
def approve(environment_id: int) -> Response:
    environment_approvals.approve_environment(current_cluster(), current_actor(), environment_id)
    return go_to(environment_id)


@blueprint.post("/environments/<int:environment_id>/decline")
def decline(environment_id: int) -> Response:
    environment_approvals.decline_environment(current_cluster(), current_actor(), environment_id)
    flash(_("The environment is declined. Its name is free again."), "ok")
    return redirect(url_for("environments.index"), 303)


@blueprint.post("/environments/<int:environment_id>/cancel")
def cancel(environment_id: int) -> Response:
    environment_builds.cancel_build(current_cluster(), current_actor(), environment_id)
    return go_to(environment_id)


@blueprint.get("/environments/<int:environment_id>/delete")
def confirm_delete(environment_id: int) -> str:
    return render_delete(environment_id, {})


def render_delete(environment_id: int, errors: dict[str, str]) -> str:
    cluster, actor = current_cluster(), current_actor()
    environment = environment_list.read_environment(cluster, actor, environment_id)
    return render_template(
        "environments/delete.html",
        environment=environment,
        use=environment_use.read_use(cluster, actor, environment_id),
        shown=environment_pages.environment_page(cluster, actor, environment),
        errors=errors,
    )


@blueprint.post("/environments/<int:environment_id>/delete")
def delete(environment_id: int) -> Response:
    try:
        environment_deletion.delete_environment(current_cluster(), current_actor(), environment_id)
    except Conflict as conflict:
        text = render_delete(environment_id, forms.error_messages(conflict))
        return Response(text, 409, mimetype="text/html")
    flash(_("The environment is deleted."), "ok")
    return redirect(url_for("environments.index"), 303)
