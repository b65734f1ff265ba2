"""Wheels for environments of sites without a package index: list, upload and delete; for administrators."""

from flask import Blueprint, Response, flash, redirect, render_template, request, url_for
from werkzeug.wrappers import Response as BaseResponse

from cluster.domain.errors import Refused
from cluster.services.images import wheels
from portal.i18n.translate import _, ngettext
from portal.web import forms, uploads
from portal.web.request_context import current_actor, current_cluster

blueprint = Blueprint("wheels", __name__)


@blueprint.get("/environments/wheels")
def index() -> str:
    return render_index({})


def render_index(errors: dict[str, str]) -> str:
    found = wheels.list_wheels(current_cluster(), current_actor())
    settings = current_cluster().settings
    return render_template(
        "environments/wheels.html",
        wheels=found,
        total=sum(wheel.size for wheel in found),
        index=settings.package_index,
        folder=settings.package_folder,
        errors=errors,
    )


@blueprint.post("/environments/wheels")
def upload() -> BaseResponse:
    try:
        sent = [file for file in request.files.getlist("wheels") if file.filename]
        arrived = [(uploads.file_name(file), uploads.saved_path(file)) for file in sent]
        wheels.add_wheels(current_cluster(), current_actor(), arrived)
    except Refused as refusal:
        return Response(render_index(forms.error_messages(refusal)), 422, mimetype="text/html")
    flash(ngettext("%(num)d wheel is there.", "%(num)d wheels are there.", len(arrived)), "ok")
    return redirect(url_for("wheels.index"), 303)


@blueprint.post("/environments/wheels/delete")
def delete() -> BaseResponse:
    forms.require_known_fields("file")
    wheels.delete_wheel(current_cluster(), current_actor(), forms.text_field("file"))
    flash(_("The wheel is deleted."), "ok")
    return redirect(url_for("wheels.index"), 303)
