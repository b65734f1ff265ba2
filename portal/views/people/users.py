"""User pages for administrators: list, create with a one-time link, change role, disable and enable. Users are never
deleted."""

from flask import Blueprint, flash, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue

from cluster.domain.errors import Refused
from cluster.domain.states import UserRole, UserState
from cluster.services.jobs import queries
from cluster.services.people import passwords, users
from cluster.services.workspaces import queries as workspace_queries
from cluster.store.users import User
from portal.i18n.translate import _
from portal.web import forms
from portal.web.request_context import current_actor, current_cluster

blueprint = Blueprint("users", __name__)

FIELDS = ("name", "full_name", "role")
ROLES = tuple(role.value for role in UserRole)
STATES = (UserState.ACTIVE.value, UserState.DISABLED.value)


@blueprint.get("/users")
def index() -> ResponseReturnValue:
    """`state` and `q` (a part of a name) narrow the list; the service's own user is not a person."""
    people = [
        user
        for user in users.list_users(current_cluster(), current_actor())
        if user.state is not UserState.SERVICE
    ]
    asked_state, q = request.args.get("state", ""), request.args.get("q", "").strip()[:100]
    shown = [
        user
        for user in people
        if asked_state in ("", user.state.value) and q.lower() in f"{user.name} {user.full_name}".lower()
    ]
    return render_template("users/list.html", people=people, shown=shown, asked_state=asked_state, q=q)


@blueprint.get("/users/new")
def new() -> ResponseReturnValue:
    values = {"role": UserRole.USER.value} | forms.read_prefilled(FIELDS)
    return render_template("users/new.html", values=values, errors={})


@blueprint.post("/users/new")
def create() -> ResponseReturnValue:
    """Answers with the link, which is shown here and never again."""
    try:
        forms.require_known_fields(*FIELDS)
        user, secret = users.create_user(
            current_cluster(),
            current_actor(),
            forms.text_field("name"),
            forms.text_field("full_name"),
            UserRole(forms.choice_field("role", ROLES)),
        )
    except Refused as refusal:
        errors = forms.error_messages_with_suggestion(refusal, "users.new")
        return render_template("users/new.html", values=request.form, errors=errors), 422
    return show_link(user, secret, is_new=True)


@blueprint.get("/users/<int:user_id>")
def page(user_id: int) -> ResponseReturnValue:
    return render_user(user_id, {})


def render_user(user_id: int, errors: dict[str, str]) -> str:
    cluster, actor = current_cluster(), current_actor()
    user = users.read_user(cluster, actor, user_id)
    theirs = [
        workspace
        for workspace in workspace_queries.list_workspaces(cluster, actor)
        if user_id in {member.id for member in workspace.members}
    ]
    return render_template("users/page.html", person=user, workspaces=theirs, errors=errors)


@blueprint.post("/users/<int:user_id>/link")
def make_link(user_id: int) -> ResponseReturnValue:
    cluster, actor = current_cluster(), current_actor()
    secret = passwords.issue_password_link(cluster, actor, user_id)
    return show_link(users.read_user(cluster, actor, user_id), secret, is_new=False)


def show_link(user: User, secret: str, is_new: bool) -> str:
    address = current_cluster().settings.public_url.rstrip("/") + url_for("links.form", token=secret)
    return render_template("users/link.html", person=user, link=address, is_new=is_new)


@blueprint.post("/users/<int:user_id>/role")
def set_role(user_id: int) -> ResponseReturnValue:
    try:
        forms.require_known_fields("role")
        role = UserRole(forms.choice_field("role", ROLES))
        users.change_role(current_cluster(), current_actor(), user_id, role)
    except Refused as refusal:
        return render_user(user_id, forms.error_messages(refusal)), 422
    flash(_("The role is changed; the person signs in again, and their API tokens are revoked."), "ok")
    return redirect(url_for("users.page", user_id=user_id), 303)


@blueprint.get("/users/<int:user_id>/disable")
def confirm_disable(user_id: int) -> ResponseReturnValue:
    return render_disable(user_id, {})


def render_disable(user_id: int, errors: dict[str, str]) -> str:
    """What disabling touches, read at this moment."""
    cluster, actor = current_cluster(), current_actor()
    user = users.read_user(cluster, actor, user_id)
    living = [job for job in queries.list_jobs(cluster, actor, user_id=user_id) if job.ended_at is None]
    managed = [
        workspace
        for workspace in workspace_queries.list_workspaces(cluster, actor)
        if workspace.manager_id == user_id
    ]
    return render_template("users/disable.html", person=user, living=living, managed=managed, errors=errors)


@blueprint.post("/users/<int:user_id>/disable")
def disable(user_id: int) -> ResponseReturnValue:
    try:
        users.disable_user(current_cluster(), current_actor(), user_id)
    except Refused as refusal:
        return render_disable(user_id, forms.error_messages(refusal)), 422
    return redirect(url_for("users.page", user_id=user_id), 303)


@blueprint.post("/users/<int:user_id>/enable")
def enable(user_id: int) -> ResponseReturnValue:
    users.enable_user(current_cluster(), current_actor(), user_id)
    return redirect(url_for("users.page", user_id=user_id), 303)
