"""A small editor for one text file of a training's code. It needs no JavaScript, and each save is a new version."""

from flask import Blueprint, flash, redirect, render_template, request, url_for
from werkzeug.wrappers import Response

from cluster.domain.code_files import LARGEST_EDITED_BYTES
from cluster.domain.errors import Conflict, NotFound, Refused
from cluster.domain.people.permissions import require_permission
from cluster.services import code_edits, trainings
from cluster.services.people.access import training_relation
from cluster.store.trainings import Training
from portal.i18n.translate import _
from portal.web import forms, query_params
from portal.web.request_context import current_actor, current_cluster

blueprint = Blueprint("code_editor", __name__)


@blueprint.get("/trainings/<int:training_id>/code/edit")
def edit(training_id: int) -> Response:
    """Shows the file at `?path=` of `?version=` (the newest by default). A file that a form cannot show is refused."""
    training = read_editable_training(training_id)
    version, path = query_params.id_param("version") or training.code_version, request.args.get("path", "")
    try:
        file = code_edits.read_editable_file(current_cluster(), training, version, path)
    except Refused as refusal:
        return render_editor(training, path, version, None, forms.error_messages(refusal), 422)
    return render_editor(training, path, version, file.text, {})


@blueprint.post("/trainings/<int:training_id>/code/edit")
def save(training_id: int) -> Response:
    """Saves the file. If somebody else has saved the same file meanwhile, the page is shown again with the text and
    names that version; the next save then overwrites it.
    """
    training = read_editable_training(training_id)
    path, text = request.form.get("path", ""), request.form.get("text", "")
    base = query_params.parse_id(request.form, "base") or 0
    try:
        forms.require_known_fields("path", "base", "text")
        if not path or not base:
            raise Refused("path" if not path else "base", "value.missing")
        version = code_edits.save_file(current_cluster(), current_actor(), training_id, path, text, base)
    except Refused as refusal:
        return render_editor(training, path, base, text, forms.error_messages(refusal), 422)
    except Conflict as conflict:
        newest = int(conflict.data.get("newest") or base)
        return render_editor(training, path, newest, text, {"": ""}, 409, base)
    flash(_("Version %(version)s is what new jobs run.", version=version.number), "ok")
    return redirect(url_for("training_code.page", training_id=training_id, path=path), 303)


def read_editable_training(training_id: int) -> Training:
    """Raises NotFound and Forbidden."""
    cluster, actor = current_cluster(), current_actor()
    training = trainings.read_training(cluster, actor, training_id)
    require_permission("training.upload_code", training_relation(actor, training), training_id)
    if not training.code_version:
        raise NotFound("code_version")
    return training


def render_editor(
    training: Training,
    path: str,
    version: int,
    text: str | None,
    errors: dict[str, str],
    status: int = 200,
    overtaken: int | None = None,
) -> Response:
    """`text` is None if there is nothing to edit. `overtaken` is the version with which the person began."""
    page = render_template(
        "training_code/edit.html",
        training=training,
        path=path,
        version=version,
        text=text,
        errors={name: sentence for name, sentence in errors.items() if sentence},
        overtaken=overtaken,
        limit=LARGEST_EDITED_BYTES,
    )
    return Response(page, status, mimetype="text/html")
