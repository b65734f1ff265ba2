"""The page on which an administrator limits what a workspace may store."""

from flask import Blueprint, flash, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue

from cluster.domain.errors import Refused
from cluster.domain.jobs import memory
from cluster.services.people.access import require_workspace_action
from cluster.services.storage.workspace_storage import set_storage_limit, storage_of
from cluster.services.workspaces import queries
from cluster.store.workspaces import Workspace
from portal.i18n.translate import _
from portal.web import forms
from portal.web.request_context import current_actor, current_cluster

blueprint = Blueprint("workspace_storage", __name__)


@blueprint.get("/workspaces/<int:workspace_id>/storage")
def ask_limit(workspace_id: int) -> ResponseReturnValue:
    workspace = read_workspace_to_limit(workspace_id)
    limit = workspace.storage_limit_bytes
    return render_limit(workspace, {"limit": "" if limit is None else memory.format_exact_size(limit)}, {})


@blueprint.post("/workspaces/<int:workspace_id>/storage")
def limit(workspace_id: int) -> ResponseReturnValue:
    workspace = read_workspace_to_limit(workspace_id)
    try:
        forms.require_known_fields("limit")
        size = read_limit()
        set_storage_limit(current_cluster(), current_actor(), workspace_id, size)
    except Refused as refusal:
        return render_limit(workspace, request.form, forms.error_messages(refusal)), 422
    flash(_("The storage limit of %(workspace)s is saved.", workspace=workspace.name), "ok")
    return redirect(url_for("workspaces.home", workspace_id=workspace_id), 303)


def read_limit() -> int | None:
    """Returns bytes, or None for no limit. Raises Refused."""
    text = forms.text_field("limit")
    if not text:
        return None
    size = memory.parse_size(text)
    if size is None:
        raise Refused("limit", "storage.limit_unreadable", text=text[:40])
    return size


def read_workspace_to_limit(workspace_id: int) -> Workspace:
    """Reads the workspace if the person may change its limit, so that no useless form is shown. Raises Forbidden."""
    workspace = queries.read_workspace(current_cluster(), current_actor(), workspace_id)
    require_workspace_action("workspace.change_quota", current_actor(), workspace)
    return workspace


def render_limit(workspace: Workspace, values: object, errors: dict[str, str]) -> str:
    return render_template(
        "workspaces/storage.html",
        workspace=workspace,
        storage=storage_of(workspace),
        values=values,
        errors=errors,
    )
