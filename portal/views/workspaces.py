"""Workspace pages: list, home, create, edit, extend and end."""

from collections import Counter
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any

from flask import Blueprint, flash, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue

from cluster.domain.errors import Conflict, Refused
from cluster.domain.refusals import Refusals
from cluster.domain.states import LIVE_JOB_STATES, UserState
from cluster.domain.workspace_edits import FieldChange, merge_edit
from cluster.services.jobs import queries
from cluster.services.people import access, users
from cluster.services.workspaces import lifecycle
from cluster.services.workspaces import queries as workspace_queries
from cluster.store.users import User
from cluster.store.workspaces import Workspace
from portal.i18n.messages import localized_error
from portal.i18n.translate import _
from portal.presenters import workspace_home
from portal.presenters.daily_usage import draw_days_of_workspace
from portal.presenters.guidance.first_steps import happened
from portal.presenters.workspace_page import sort_by_state, state_now, today
from portal.web import forms
from portal.web.request_context import current_actor, current_cluster, is_fragment_request

blueprint = Blueprint("workspaces", __name__)

FIRST_TERM_DAYS = 90
FIELDS = ("name", "description", "units", "starts_on", "ends_on", "manager", "members", "more_members")


@blueprint.get("/workspaces")
def index() -> ResponseReturnValue:
    """`state` narrows the list: active, scheduled or expired."""
    cluster, actor = current_cluster(), current_actor()
    workspaces = sort_by_state(workspace_queries.list_workspaces_without_members(cluster, actor))
    asked_state = request.args.get("state", "")
    shown = [row for row in workspaces if asked_state in ("", state_now(row))]
    return render_template(
        "workspaces/_list.html" if is_fragment_request() else "workspaces/list.html",
        workspaces=shown,
        counts=Counter(state_now(row) for row in workspaces),
        use=workspace_queries.read_units_in_use_of(cluster, [row.id for row in shown]),
        members=workspace_queries.count_members(cluster, [row.id for row in shown]),
        asked_state=asked_state,
        may_create=actor.is_administrator,
    )


@blueprint.get("/workspaces/<int:workspace_id>")
def home(workspace_id: int) -> ResponseReturnValue:
    workspace = workspace_queries.read_workspace(current_cluster(), current_actor(), workspace_id)
    return render_template(
        "workspaces/_home.html" if is_fragment_request() else "workspaces/home.html",
        workspace=workspace,
        daily_usage=draw_days_of_workspace(workspace.id),
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
    members = forms.split_names(request.args.getlist("members"))
    return render_workspace_form("workspaces/new.html", values | forms.read_prefilled(FIELDS), {}, members)


@blueprint.post("/workspaces/new")
def create() -> ResponseReturnValue:
    refusals = Refusals()
    read = refusals.check
    try:
        read(forms.require_known_fields, *FIELDS)
        workspace = lifecycle.create_workspace(
            current_cluster(),
            current_actor(),
            read(forms.text_field, "name") or "",
            read(forms.text_field, "description") or "",
            read(forms.date_field, "starts_on"),
            read(forms.date_field, "ends_on"),
            read(forms.integer_field, "units"),
            read(forms.text_field, "manager") or "",
            read_members(),
            refusals,
        )
    except Refused as refusal:
        errors = forms.error_messages_with_suggestion(refusal, "workspaces.new")
        return render_workspace_form("workspaces/new.html", request.form, errors, read_members()), 422
    made = _("Workspace %(name)s is made.", name=workspace.name)
    # The dashboard's first steps say the same: a person who is alone in the workspace invites others next.
    follows = (
        happened(made, url_for("datasets.new", workspace_id=workspace.id), _("Add a dataset"))
        if set(read_members()) - {forms.text_field("manager")}
        else happened(made, url_for("users.new", workspaces=workspace.id), _("Add a person"))
    )
    flash(follows, "ok")
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
    }
    members = [member.name for member in workspace.members]
    return render_workspace_form("workspaces/edit.html", values, {}, members, workspace)


@blueprint.post("/workspaces/<int:workspace_id>/edit")
def save(workspace_id: int) -> ResponseReturnValue:
    """A manager's form has no term and no quota; the service refuses a form that has them anyway."""
    workspace = read_permitted_workspace("workspace.edit", workspace_id)
    refusals = Refusals()
    try:
        refusals.check(forms.require_known_fields, "version", *FIELDS)
        changes = read_changes(refusals)
        version = forms.integer_field("version")
        lifecycle.edit_workspace(
            current_cluster(), current_actor(), workspace_id, version, **changes, refusals=refusals
        )
    except Refused as refusal:
        return render_workspace_form(
            "workspaces/edit.html", request.form, forms.error_messages(refusal), read_members(), workspace
        ), 422
    except Conflict as conflict:
        return render_conflict(conflict, workspace), 409
    return redirect(url_for("workspaces.home", workspace_id=workspace_id), 303)


def render_conflict(conflict: Conflict, workspace: Workspace) -> str:
    """Shows the form again with the typed values, the values that others have stored in the other fields, and the new
    version, so that it can be saved as it is. The page lists the changes by others, and the fields that both have
    changed.
    """
    seen = int(text) if (text := request.form.get("version", "")).isdecimal() else workspace.version
    changes = workspace_queries.list_changes_since(current_cluster(), current_actor(), workspace.id, seen)
    manager = request.form.get("manager", "").strip() or workspace.manager.name
    typed: dict[str, Any] = {**request.form, "members": sorted({*read_members(), manager})}
    if (units := typed.get("units", "")).isdecimal():
        typed["units"] = int(units)
    merged = merge_edit(typed, changes) | {"version": workspace.version}
    return render_workspace_form(
        "workspaces/edit.html",
        merged,
        {"": localized_error(conflict)},
        merged["members"],
        workspace,
        [(change, merged.get(change.field) != change.after) for change in changes],
    )


def read_changes(refusals: Refusals) -> dict[str, Any]:
    """Returns the fields of the form under the names of the service's parameters."""
    readers: dict[str, tuple[str, Callable[[str], Any]]] = {
        "description": ("description", forms.text_field),
        "name": ("name", forms.text_field),
        "manager": ("manager_name", forms.text_field),
        "units": ("units", forms.integer_field),
        "starts_on": ("starts_on", forms.date_field),
        "ends_on": ("ends_on", forms.date_field),
    }
    changes = {
        name: refusals.check(read, field) for field, (name, read) in readers.items() if field in request.form
    }
    return changes | ({"member_names": read_members()} if "members" in request.form else {})


def read_members() -> list[str]:
    """Reads the names that are ticked and those that are typed, each once."""
    return list(dict.fromkeys(forms.names_field("members") + forms.names_field("more_members")))


def render_workspace_form(
    page: str,
    values: Any,
    errors: dict[str, str],
    members: list[str],
    workspace: Workspace | None = None,
    changes: Sequence[tuple[FieldChange, bool]] = (),
) -> str:
    """`members` are the ticked names; `changes` are those of other people, each with True if the form differs from it.

    Administrators choose from all people; managers, who may not list them, from the present members, and type other
    names.
    """
    cluster, actor = current_cluster(), current_actor()
    people = users.list_users(cluster, actor) if actor.is_administrator else []
    people = people or (workspace.members if workspace else [])
    return render_template(
        page,
        values=values,
        errors=errors,
        workspace=workspace,
        changes=changes,
        members=members,
        candidates=list_candidates(people, members),
        is_administrator=actor.is_administrator,
        left_today=lifecycle.max_units_for_term(
            cluster, today(), today(), workspace.id if workspace else None
        ),
    )


def list_candidates(people: Sequence[User], members: Sequence[str]) -> list[dict[str, str]]:
    """Lists active people and all ticked names. An unknown name stays ticked, so that nothing typed is lost."""
    full_names = {user.name: user.full_name for user in people}
    names = sorted({*members, *(user.name for user in people if user.state is UserState.ACTIVE)})
    return [{"value": name, "word": name, "remark": full_names.get(name, "")} for name in names]


def read_permitted_workspace(action: str, workspace_id: int) -> Workspace:
    """Reads the workspace if the person may do this, so that no useless form is shown. Raises Forbidden."""
    workspace = workspace_queries.read_workspace(current_cluster(), current_actor(), workspace_id)
    access.require_workspace_action(action, current_actor(), workspace)
    return workspace


@blueprint.get("/workspaces/<int:workspace_id>/end")
def confirm_end(workspace_id: int) -> ResponseReturnValue:
    """Shows what ending the workspace affects, counted at this moment."""
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
