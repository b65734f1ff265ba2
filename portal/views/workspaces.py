"""Workspace pages: list, home, create, edit, extend and end."""

from collections import Counter
from datetime import date, timedelta
from typing import Any

from flask import Blueprint, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue

from cluster.domain.errors import Conflict, Forbidden, Refused
from cluster.domain.people.permissions import ALLOWED_RELATIONS, is_allowed
from cluster.domain.states import JobState, WorkspaceState
from cluster.domain.workspace_terms import days_left, workspace_state
from cluster.services import datasets, trainings
from cluster.services.jobs import queries
from cluster.services.people import access, users
from cluster.services.workspaces import lifecycle
from cluster.services.workspaces import queries as workspace_queries
from cluster.store.jobs import Job
from cluster.store.workspaces import Workspace
from portal.i18n.messages import localized_error, store_wait_explanations
from portal.i18n.translate import _
from portal.presenters.job_texts import wait_explanations_of
from portal.presenters.unit_bars import largest_free_block, workspace_bars
from portal.web import forms
from portal.web.request_context import current_actor, current_cluster, is_fragment_request

blueprint = Blueprint("workspaces", __name__)

UNIT_HOLDING_STATES = (JobState.STARTING, JobState.RUNNING, JobState.STOPPING)
JOBS_SHOWN = 8
FIRST_TERM_DAYS = 90
FIELDS = ("name", "description", "units", "starts_on", "ends_on", "manager", "members")


@blueprint.app_template_global("workspace_state")
def state_now(workspace: Workspace) -> str:
    return workspace_state(workspace, current_cluster().clock(), current_cluster().settings.zone).value


@blueprint.app_template_global("days_left")
def days_now(workspace: Workspace) -> int:
    return days_left(workspace, current_cluster().clock(), current_cluster().settings.zone)


def today() -> date:
    return current_cluster().clock().astimezone(current_cluster().settings.zone).date()


@blueprint.get("/workspaces")
def index() -> ResponseReturnValue:
    """`state` narrows the list: active, scheduled or expired."""
    cluster, actor = current_cluster(), current_actor()
    found = workspace_queries.list_workspaces(cluster, actor)
    asked_state = request.args.get("state", "")
    shown = [row for row in found if asked_state in ("", state_now(row))]
    order = [WorkspaceState.ACTIVE, WorkspaceState.SCHEDULED, WorkspaceState.EXPIRED]
    shown.sort(key=lambda row: (order.index(WorkspaceState(state_now(row))), row.name))
    return render_template(
        "workspaces/_list.html" if is_fragment_request() else "workspaces/list.html",
        workspaces=shown,
        counts=Counter(state_now(row) for row in found),
        use=workspace_queries.read_units_in_use_of(cluster, [row.id for row in shown]),
        asked_state=asked_state,
        may_create=actor.is_administrator,
    )


@blueprint.get("/workspaces/<int:workspace_id>")
def home(workspace_id: int) -> ResponseReturnValue:
    cluster, actor = current_cluster(), current_actor()
    workspace = workspace_queries.read_workspace(cluster, actor, workspace_id)
    relation = access.workspace_relation(actor, workspace)
    used = workspace_queries.read_units_in_use_of(cluster, [workspace_id])[workspace_id]
    holding = queries.list_jobs(
        cluster, actor, states=UNIT_HOLDING_STATES, workspace_id=workspace_id, limit=200
    )
    recent = queries.list_jobs(cluster, actor, workspace_id=workspace_id, limit=JOBS_SHOWN)
    store_wait_explanations(wait_explanations_of(recent))
    return render_template(
        "workspaces/_home.html" if is_fragment_request() else "workspaces/home.html",
        workspace=workspace,
        state=state_now(workspace),
        used=used,
        mine=sum(job.units for job in holding if job.user_id == actor.user_id),
        my_jobs=sum(job.user_id == actor.user_id for job in holding),
        legend=units_legend(holding, actor.user_id),
        free_now=largest_free_block(workspace.units - used),
        bars=workspace_bars(holding, workspace, used, actor.user_id),
        by_person=units_by_person(holding),
        recent=recent,
        trainings=trainings.list_trainings(cluster, actor, workspace_id),
        datasets=datasets.list_datasets(cluster, actor, workspace_id),
        may_edit=is_allowed("workspace.edit", relation),
        may_extend=is_allowed("workspace.extend", relation),
        may_end=is_allowed("workspace.end", relation),
    )


def units_legend(holding: list[Job], user_id: int) -> list[dict[str, object]]:
    """The two colours of the bars; empty where nothing runs."""
    mine = sum(job.units for job in holding if job.user_id == user_id)
    others = sum(job.units for job in holding if job.user_id != user_id)
    shown = ({"fill": 1, "word": _("me"), "count": mine}, {"fill": 2, "word": _("others"), "count": others})
    return [dict(item) for item in shown if item["count"]]


def units_by_person(holding: list[Job]) -> Counter[str]:
    summed: Counter[str] = Counter()
    for job in holding:
        summed[job.user.name] += job.units
    return summed


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
        made = lifecycle.create_workspace(
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
    return redirect(url_for("workspaces.home", workspace_id=made.id), 303)


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
    """A manager's form has no term and no quota; whoever sends them anyway is refused by the service."""
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
    """The workspace, where the person may do this to it; a form that would be refused is not offered."""
    workspace = workspace_queries.read_workspace(current_cluster(), current_actor(), workspace_id)
    if not is_allowed(action, access.workspace_relation(current_actor(), workspace)):
        raise Forbidden("forbidden." + action, allowed=sorted(ALLOWED_RELATIONS[action]))
    return workspace


@blueprint.get("/workspaces/<int:workspace_id>/end")
def confirm_end(workspace_id: int) -> ResponseReturnValue:
    """What ending touches, read at this moment."""
    cluster, actor = current_cluster(), current_actor()
    workspace = read_permitted_workspace("workspace.end", workspace_id)
    living = queries.list_jobs(
        cluster, actor, states=(*UNIT_HOLDING_STATES, JobState.WAITING), workspace_id=workspace_id, limit=200
    )
    return render_template("workspaces/end.html", workspace=workspace, living=living)


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
