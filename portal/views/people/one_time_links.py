"""The page behind a one-time link, on which a user sets the password of the account."""

from flask import Blueprint, flash, make_response, redirect, render_template, url_for
from flask.typing import ResponseReturnValue

from cluster.domain.errors import NotFound, Refused
from cluster.services.people import passwords, sessions
from portal.i18n.translate import _
from portal.web import forms
from portal.web.request_context import client_address, client_user_agent, current_cluster, current_request_id
from portal.web.session_cookie import set_session_cookie

blueprint = Blueprint("links", __name__)


@blueprint.get("/link/<token>")
def form(token: str) -> ResponseReturnValue:
    """The address is a secret: no Referer contains it, and the request log does not name it."""
    try:
        user = passwords.read_password_link(current_cluster(), token)
    except NotFound:
        return render_template("one_time_links/expired.html"), 404
    response = make_response(render_template("one_time_links/page.html", user=user, errors={}))
    response.headers["Referrer-Policy"] = "no-referrer"
    return response


@blueprint.post("/link/<token>")
def set_password(token: str) -> ResponseReturnValue:
    cluster, password = current_cluster(), forms.password_field("password")
    try:
        user = passwords.read_password_link(cluster, token)
        forms.require_known_fields("username", "password")
        passwords.use_password_link(cluster, token, password, client_address())
    except NotFound:
        return render_template("one_time_links/expired.html"), 404
    except Refused as refusal:
        return render_template(
            "one_time_links/page.html", user=user, errors=forms.error_messages(refusal)
        ), 422
    if user.password_hash:
        flash(_("The password is changed; open sessions have ended, and API tokens are revoked."), "ok")
    signed_in = sessions.begin_session(
        cluster, user.id, client_address(), client_user_agent(), current_request_id()
    )
    return set_session_cookie(redirect(url_for("dashboard.home")), signed_in)
