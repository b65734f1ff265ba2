"""The page of a new installation on which the holder of the one-time secret creates the first administrator."""

from flask import Blueprint, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue

from cluster.domain.errors import NotFound, Refused
from cluster.services.people import first_administrator, sessions
from portal.web import forms
from portal.web.request_context import client_address, client_user_agent, current_cluster, current_request_id
from portal.web.session_cookie import set_session_cookie

blueprint = Blueprint("first_administrator", __name__)


@blueprint.get("/first-administrator")
def form() -> ResponseReturnValue:
    """If an administrator exists, this page redirects to the sign-in page."""
    if not first_administrator.needs_first_administrator(current_cluster()):
        return redirect(url_for("sign_in.sign_in"))
    return render_template("first_administrator/page.html", values={}, errors={})


@blueprint.post("/first-administrator")
def create() -> ResponseReturnValue:
    cluster = current_cluster()
    if not first_administrator.needs_first_administrator(cluster):
        raise NotFound("page")
    secret, password = forms.password_field("secret").strip(), forms.password_field("password")
    try:
        forms.require_known_fields("secret", "name", "password")
        user = first_administrator.create_first_administrator(
            cluster, secret, forms.text_field("name"), password, client_address(), current_request_id()
        )
    except Refused as refusal:
        page = "first_administrator/page.html"
        return render_template(page, values=request.form, errors=forms.error_messages(refusal)), 422
    token = sessions.begin_session(
        cluster, user.id, client_address(), client_user_agent(), current_request_id()
    )
    return set_session_cookie(redirect(url_for("dashboard.home")), token)
