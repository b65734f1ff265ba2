"""Workspace pages: list, home, create, edit, extend and end."""

from collections import Counter
from datetime import timedelta
from typing import Any

from flask import Blueprint, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue

from cluster.domain.errors import Conflict, Refused
from cluster.domain.states import LIVE_JOB_STATES
from cluster.services.jobs import queries
from cluster.services.people import access, users
from cluster.services.workspaces import lifecycle
from cluster.services.workspaces import queries as workspace_queries
from cluster.store.workspaces import Workspace
from portal.i18n.messages import localized_error
from portal.presenters import workspace_home
from portal.presenters.workspace_page import sort_by_state, state_now, today
from portal.web import forms
from portal.web.request_context import current_actor, current_cluster, is_fragment_request

blueprint = Blueprint("workspaces", __name__)

FIRST_TERM_DAYS = 90
FIELDS = ("name", "description", "units", "starts_on", "ends_on", "manager", "members")


@blueprint.get("/workspaces")
def index() -> ResponseReturnValue:
    """`state` narrows the list: active, scheduled or expired."""
    cluster, actor = current_cluster(), current_actor()
    workspaces = sort_by_state(workspace_queries.list_workspaces(cluster, actor))
    asked_state = request.args.get("state", "")
    shown = [row for row in workspaces if asked_state in ("", state_now(row))]
    return render_template(
        "workspaces/_list.html" if is_fragment_request() else "workspaces/list.html",
        workspaces=shown,
        counts=Counter(state_now(row) for row in workspaces),
        use=workspace_queries.read_units_in_use_of(cluster, [row.id for row in shown]),
        asked_state=asked_state,
        may_create=actor.is_administrator,
    )


@blueprint.get("/workspaces/<int:workspace_id>")
def home(workspace_id: int) -> ResponseReturnValue:
    workspace = workspace_queries.read_workspace(current_cluster(), current_actor(), workspace_id)
    return render_template(
        "workspaces/_home.html" if is_fragment_request() else "workspaces/home.html",
        workspace=workspace,
        **workspace_home.read_home_values(workspace),
    )


@blueprint.get("/workspaces/new")
def new() -> ResponseReturnValue:
    first = today()
    values = {
        "starts_on": first.isoformat(),
        "ends_on": (first + timedelta(days=FIRST_TERM_DAYS)).isoformat(),
        "manager": current_actor().name,
    }
    return render_workspace_form("workspaces/new.html", values | forms.read_prefilled(FIELDS), {})


@blueprint.post("/workspaces/new")
def create() -> ResponseReturnValue:
    try:
        forms.require_known_fields(*FIELDS)
        workspace = lifecycle.create_workspace(
            current_cluster(),
            current_actor(),
            forms.text_field("name"),
            forms.text_field("description"),
            forms.date_field("starts_on"),
            forms.date_field("ends_on"),
            forms.integer_field("units"),
            forms.text_field("manager"),
            forms.names_field("members"),
        )
    except Refused as refusal:
        errors = forms.error_messages_with_suggestion(refusal, "workspaces.new")
        return render_workspace_form("workspaces/new.html", request.form, errors), 422
    return redirect(url_for("workspaces.home", workspace_id=workspace.id), 303)


@blueprint.get("/workspaces/<int:workspace_id>/edit")
def edit(workspace_id: int) -> ResponseReturnValue:
    workspace = read_permitted_workspace("workspace.edit", workspace_id)
    values = {
        "version": workspace.version,
        "name": workspace.name,
        "description": workspace.description,
        "starts_on": workspace.starts_on.isoformat(),
        "ends_on": workspace.ends_on.isoformat(),
        "units": workspace.units,
        "manager": workspace.manager.name,
        "members": ", ".join(member.name for member in workspace.members),
    }
    return render_workspace_form("workspaces/edit.html", values, {}, workspace)


@blueprint.post("/workspaces/<int:workspace_id>/edit")
def save(workspace_id: int) -> ResponseReturnValue:
    """A manager's form has no term and no quota; the service refuses a form that has them anyway."""
    workspace = read_permitted_workspace("workspace.edit", workspace_id)
    changes: dict[str, Any] = {}
    try:
        forms.require_known_fields("version", *FIELDS)
        changes["description"] = forms.text_field("description")
        if "members" in request.form:
            changes["member_names"] = forms.names_field("members")
        if "name" in request.form:
            changes["name"] = forms.text_field("name")
        if "manager" in request.form:
            changes["manager_name"] = forms.text_field("manager")
        if "units" in request.form:
            changes["units"] = forms.integer_field("units")
        for field in ("starts_on", "ends_on"):
            if field in request.form:
                changes[field] = forms.date_field(field)
        version = forms.integer_field("version")
        lifecycle.edit_workspace(current_cluster(), current_actor(), workspace_id, version, **changes)
    except Refused as refusal:
        return render_workspace_form(
            "workspaces/edit.html", request.form, forms.error_messages(refusal), workspace
        ), 422
    except Conflict as conflict:
        # The form keeps what was typed and takes the new version: sent again, it wins.
        values = {**request.form, "version": workspace.version}
        return render_workspace_form(
            "workspaces/edit.html", values, {"": localized_error(conflict)}, workspace
        ), 409
    return redirect(url_for("workspaces.home", workspace_id=workspace_id), 303)


def render_workspace_form(
    page: str, values: Any, errors: dict[str, str], workspace: Workspace | None = None
) -> str:
    """Names to choose from only for who may list people; others type them."""
    cluster, actor = current_cluster(), current_actor()
    people = users.list_users(cluster, actor) if actor.is_administrator else []
    return render_template(
        page,
        values=values,
        errors=errors,
        workspace=workspace,
        people=people,
        is_administrator=actor.is_administrator,
        left_today=lifecycle.max_units_for_term(
            cluster, today(), today(), workspace.id if workspace else None
        ),
    )


def read_permitted_workspace(action: str, workspace_id: int) -> Workspace:
    """A form that would be refused is not offered. Raises Forbidden."""
    workspace = workspace_queries.read_workspace(current_cluster(), current_actor(), workspace_id)
    access.require_workspace_action(action, current_actor(), workspace)
    return workspace


@blueprint.get("/workspaces/<int:workspace_id>/end")
def confirm_end(workspace_id: int) -> ResponseReturnValue:
    """What ending touches, read at this moment."""
    cluster, actor = current_cluster(), current_actor()
    workspace = read_permitted_workspace("workspace.end", workspace_id)
    live_jobs = queries.list_jobs(
        cluster, actor, states=LIVE_JOB_STATES, workspace_id=workspace_id, limit=200
    )
    return render_template("workspaces/end.html", workspace=workspace, living=live_jobs)


@blueprint.post("/workspaces/<int:workspace_id>/end")
def end(workspace_id: int) -> ResponseReturnValue:
    lifecycle.end_workspace(current_cluster(), current_actor(), workspace_id)
    return redirect(url_for("workspaces.home", workspace_id=workspace_id), 303)


@blueprint.get("/workspaces/<int:workspace_id>/extend")
def ask_longer(workspace_id: int) -> ResponseReturnValue:
    workspace = read_permitted_workspace("workspace.extend", workspace_id)
    longer = max(workspace.ends_on, today()) + timedelta(days=30)
    values = {"ends_on": longer.isoformat()}
    return render_template("workspaces/extend.html", workspace=workspace, values=values, errors={})


@blueprint.post("/workspaces/<int:workspace_id>/extend")
def extend(workspace_id: int) -> ResponseReturnValue:
    workspace = read_permitted_workspace("workspace.extend", workspace_id)
    try:
        forms.require_known_fields("ends_on")
        lifecycle.extend_workspace(
            current_cluster(), current_actor(), workspace_id, forms.date_field("ends_on")
        )
    except Refused as refusal:
        errors = forms.error_messages(refusal)
        page = "workspaces/extend.html"
        return render_template(page, workspace=workspace, values=request.form, errors=errors), 422
    return redirect(url_for("workspaces.home", workspace_id=workspace_id), 303)
