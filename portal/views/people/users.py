"""User pages for administrators: list, create with a one-time link, change role, disable and enable. Users are never
deleted."""

from flask import Blueprint, flash, redirect, render_template, request, session, url_for
from flask.typing import ResponseReturnValue

from cluster.domain.errors import Refused
from cluster.domain.refusals import Refusals
from cluster.domain.states import UserRole, UserState
from cluster.services.alerts.outbox import request_delivery
from cluster.services.jobs import queries
from cluster.services.notifications.invitation_mails import can_mail_invitations
from cluster.services.people import passwords, users
from cluster.services.workspaces import invitations, open_workspaces
from cluster.services.workspaces import queries as workspace_queries
from portal.i18n.translate import _
from portal.presenters.user_rows import user_row
from portal.web import forms, query_params
from portal.web.request_context import current_actor, current_cluster

blueprint = Blueprint("users", __name__)

FIELDS = ("name", "full_name", "email", "role", "workspaces")
SHOWN_LINK = "shown_link"
"""[user id, token] in the browser's signed cookie, from the creation of a link until it is shown."""
ROLES = tuple(role.value for role in UserRole)
PAGE_LENGTH = 50
STATES = (UserState.ACTIVE.value, UserState.DISABLED.value)


@blueprint.get("/users")
def index() -> ResponseReturnValue:
    """`state` and `q` (a part of a name) narrow the list, `after` is the keyset page."""
    cluster, actor = current_cluster(), current_actor()
    asked_state = query_params.choice_param("state", STATES)
    q, after = request.args.get("q", "").strip()[:100], query_params.id_param("after")
    state = UserState(asked_state) if asked_state else None
    found = users.list_users_in_part(cluster, actor, q, state, after, PAGE_LENGTH + 1)
    people, next_after = query_params.split_page(found, PAGE_LENGTH)
    counts = users.count_users(cluster, actor)
    return render_template(
        "users/list.html",
        count=sum(counts.values()),
        administrators=counts.get(UserRole.ADMINISTRATOR, 0),
        rows=[user_row(user) for user in people],
        next_after=next_after,
        asked_state=asked_state,
        q=q,
        current_url_with=query_params.current_url_with,
    )


@blueprint.get("/users/new")
def new() -> ResponseReturnValue:
    values = {"role": UserRole.USER.value} | forms.read_prefilled(FIELDS)
    return render_new_user(values, {}, request.args.getlist("workspaces"))


def render_new_user(values: dict[str, str], errors: dict[str, str], chosen: list[str]) -> str:
    """`chosen` are the ids of the ticked workspaces."""
    return render_template(
        "users/new.html",
        values=values,
        errors=errors,
        chosen=chosen,
        workspaces=open_workspaces.list_open_workspaces(current_cluster(), current_actor()),
        mails_links=can_mail_invitations(current_cluster()),
    )


@blueprint.post("/users/new")
def create() -> ResponseReturnValue:
    """Creates the user and redirects to the page of the link, which is shown there once."""
    refusals = Refusals()
    read = refusals.check
    try:
        read(forms.require_known_fields, *FIELDS)
        user, secret = invitations.invite_user(
            current_cluster(),
            current_actor(),
            read(forms.text_field, "name") or "",
            read(forms.text_field, "full_name") or "",
            read(forms.choice_field, "role", ROLES) or UserRole.USER,
            read(forms.text_field, "email") or "",
            read(forms.ids_field, "workspaces") or [],
            refusals,
        )
    except Refused as refusal:
        errors = forms.error_messages_with_suggestion(refusal, "users.new")
        return render_new_user(request.form, errors, request.form.getlist("workspaces")), 422
    is_mailed = invitations.is_mailed(current_cluster(), user)
    if is_mailed:
        request_delivery(current_cluster(), users.service_actor(current_cluster()))
    return redirect_to_link(user.id, secret, is_mailed)


@blueprint.get("/users/<int:user_id>")
def page(user_id: int) -> ResponseReturnValue:
    return render_user(user_id, {})


def render_user(user_id: int, errors: dict[str, str]) -> str:
    cluster, actor = current_cluster(), current_actor()
    user = users.read_user(cluster, actor, user_id)
    theirs = workspace_queries.list_workspaces_of_member(cluster, actor, user_id)
    return render_template("users/page.html", person=user, workspaces=theirs, errors=errors)


@blueprint.post("/users/<int:user_id>/link")
def make_link(user_id: int) -> ResponseReturnValue:
    secret = passwords.issue_password_link(current_cluster(), current_actor(), user_id)
    return redirect_to_link(user_id, secret)


def redirect_to_link(user_id: int, secret: str, is_mailed: bool = False) -> ResponseReturnValue:
    """The link is shown by a page of its own, which may be loaded again without creating another link."""
    session[SHOWN_LINK] = [user_id, secret, is_mailed]
    return redirect(url_for("users.link", user_id=user_id), 303)


@blueprint.get("/users/<int:user_id>/link")
def link(user_id: int) -> ResponseReturnValue:
    """Shows a new link once, with the host name that the administrator's browser has used; later only its expiry."""
    cluster, actor = current_cluster(), current_actor()
    user = users.read_user(cluster, actor, user_id)
    for_user, secret, is_mailed = session.pop(SHOWN_LINK, None) or (0, "", False)
    path = url_for("links.form", token=secret) if for_user == user_id else ""
    return render_template(
        "users/link.html",
        person=user,
        is_mailed=bool(path) and is_mailed,
        link=request.host_url.rstrip("/") + path if path else "",
        expires_at=passwords.read_link_expiry(cluster, actor, user_id),
    )


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
    """Shows what disabling the person affects, counted at this moment."""
    cluster, actor = current_cluster(), current_actor()
    user = users.read_user(cluster, actor, user_id)
    living = [job for job in queries.list_jobs(cluster, actor, user_id=user_id) if job.ended_at is None]
    managed = [
        workspace
        for workspace in workspace_queries.list_workspace_summaries(cluster, actor)
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
