"""The sign-in page and signing out."""

from datetime import timedelta

from flask import Blueprint, make_response, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue
from flask_login import current_user
from werkzeug.wrappers import Response

from cluster.domain.errors import Refused
from cluster.services.nodes import queries
from cluster.services.people import first_administrator, known_browsers, sessions
from portal.after_sign_in import KeptForm, kept_field_names, local_path, read_kept_form
from portal.recent_values import EVERYBODY, recent_values
from portal.web import forms
from portal.web.request_context import client_address, client_user_agent, current_cluster, current_request_id
from portal.web.session_cookie import (
    current_browser_token,
    delete_session_cookie,
    set_browser_cookie,
    set_session_cookie,
)

blueprint = Blueprint("sign_in", __name__)


@blueprint.get("/sign-in")
def sign_in() -> ResponseReturnValue:
    back = local_path(request.args.get("next", "/"))
    if current_user.is_authenticated:
        return redirect(back)
    cluster = current_cluster()
    if recent_values().read(
        EVERYBODY, "first", lambda: first_administrator.needs_first_administrator(cluster)
    ):
        return redirect(url_for("first_administrator.form"))
    return render_sign_in({"next": back}, {})


def render_sign_in(
    values: dict[str, str], errors: dict[str, str], minutes: int = 0, kept: KeptForm | None = None
) -> str:
    """`minutes` is how long the name or the address has to wait. `kept` is a form that waits for the sign-in."""
    cluster = current_cluster()
    return render_template(
        "sign_in/page.html",
        values=values,
        errors=errors,
        minutes=minutes,
        kept=kept,
        locked_until=cluster.clock() + timedelta(minutes=minutes) if minutes else None,
        capacity=recent_values().read(EVERYBODY, "capacity", lambda: queries.count_working_units(cluster)),
    )


@blueprint.post("/sign-in")
def open_session() -> ResponseReturnValue:
    """A refused sign-in keeps the name. A throttled one says when the person may try again."""
    back, kept = local_path(request.form.get("next", "/")), read_kept_form()
    try:
        forms.require_known_fields("name", "password", "next", *kept_field_names())
        token = sign_in_as_typed(typed_name(), forms.password_field("password"))
    except Refused as refusal:
        values = {"name": typed_name(), "next": back}
        return render_sign_in(values, forms.error_messages(refusal), minutes_to_wait(refusal), kept), 422
    if kept is None:
        return keep_session(redirect(back), token, typed_name())
    return keep_session(make_response(render_template("sign_in/resend.html", kept=kept)), token, typed_name())


def typed_name(field: str = "name") -> str:
    """Converts the name to small letters, the only ones in names, because a phone's keyboard begins with a capital
    letter.
    """
    return request.form.get(field, "").strip()[:64].lower()


def sign_in_as_typed(name: str, password: str) -> str:
    """The token of the new session. Raises Refused."""
    return sessions.sign_in(
        current_cluster(),
        name,
        password,
        client_address(),
        client_user_agent(),
        current_request_id(),
        current_browser_token(),
    )


def keep_session(response: Response, token: str, name: str) -> Response:
    """Sets the cookie of the session, and the one by which this browser is recognised at the next sign-in."""
    known = known_browsers.issue_browser_token(current_cluster(), name)
    return set_browser_cookie(set_session_cookie(response, token), known)


def minutes_to_wait(refusal: Refused) -> int:
    return int(refusal.data.get("minutes", 0)) if refusal.code == "sign_in.throttled" else 0


@blueprint.get("/sign-in/again")
def sign_in_again() -> ResponseReturnValue:
    """Answers the script of a page whose session has ended: the form, or who is signed in by now, with a new CSRF
    token.
    """
    return render_template("sign_in/_again.html", name=request.args.get("name", "")[:64], errors={})


@blueprint.post("/sign-in/again")
def reopen_session() -> ResponseReturnValue:
    """Signs in again and sends no page, because the page is still open."""
    try:
        forms.require_known_fields("again_name", "again_password")
        token = sign_in_as_typed(typed_name("again_name"), forms.password_field("again_password"))
    except Refused as refusal:
        errors = forms.error_messages(refusal)
        return render_template("sign_in/_again.html", name=typed_name("again_name"), errors=errors), 422
    return keep_session(make_response("", 204), token, typed_name("again_name"))


@blueprint.post("/sign-out")
def sign_out() -> ResponseReturnValue:
    sessions.sign_out(current_cluster(), current_user.token)
    return delete_session_cookie(redirect(url_for("sign_in.sign_in")))
