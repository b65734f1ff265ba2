"""The description of REST for people."""

from flask import Blueprint, redirect, render_template, url_for
from flask.typing import ResponseReturnValue

from portal.presenters.guidance.rest_reference import read_rest_reference

blueprint = Blueprint("rest_reference", __name__)


@blueprint.get("/api")
def page() -> ResponseReturnValue:
    return render_template("rest_reference/page.html", tags=read_rest_reference())


@blueprint.get("/api/docs")
def docs() -> ResponseReturnValue:
    """Redirects from `/api/docs`, the address that many people try first."""
    return redirect(url_for("rest_reference.page"))
