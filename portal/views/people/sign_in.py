"""The sign-in page and signing out."""

from datetime import timedelta

from flask import Blueprint, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue
from flask_login import current_user

from cluster.domain.errors import Refused
from cluster.services.nodes import queries
from cluster.services.people import first_administrator, sessions
from portal.web import forms
from portal.web.request_context import client_address, client_user_agent, current_cluster, current_request_id
from portal.web.session_cookie import delete_session_cookie, local_path, set_session_cookie

blueprint = Blueprint("sign_in", __name__)


@blueprint.get("/sign-in")
def sign_in() -> ResponseReturnValue:
    back = local_path(request.args.get("next", "/"))
    if current_user.is_authenticated:
        return redirect(back)
    if first_administrator.needs_first_administrator(current_cluster()):
        return redirect(url_for("first_administrator.form"))
    return render_sign_in({"next": back}, {})


def render_sign_in(values: dict[str, str], errors: dict[str, str], minutes: int = 0) -> str:
    """`minutes`: how long the name or the address has to wait."""
    cluster = current_cluster()
    return render_template(
        "sign_in/page.html",
        values=values,
        errors=errors,
        minutes=minutes,
        locked_until=cluster.clock() + timedelta(minutes=minutes) if minutes else None,
        capacity=queries.count_working_units(cluster),
    )


@blueprint.post("/sign-in")
def open_session() -> ResponseReturnValue:
    """A refused one keeps the name; a throttled one says from when on it may be tried again."""
    cluster = current_cluster()
    back = local_path(request.form.get("next", "/"))
    name = request.form.get("name", "").strip()[:64]
    try:
        forms.require_known_fields("name", "password", "next")
        token = sessions.sign_in(
            cluster,
            name,
            forms.password_field("password"),
            client_address(),
            client_user_agent(),
            current_request_id(),
        )
    except Refused as refusal:
        minutes = int(refusal.data.get("minutes", 0)) if refusal.code == "sign_in.throttled" else 0
        return render_sign_in({"name": name, "next": back}, forms.error_messages(refusal), minutes), 422
    return set_session_cookie(redirect(back), token)


@blueprint.post("/sign-out")
def sign_out() -> ResponseReturnValue:
    sessions.sign_out(current_cluster(), current_user.token)
    return delete_session_cookie(redirect(url_for("sign_in.sign_in")))
