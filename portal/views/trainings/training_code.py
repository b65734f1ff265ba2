"""The code of a training: its versions as trees, files to look at and download, two versions compared, new versions."""

from flask import Blueprint, flash, redirect, render_template, request, url_for
from werkzeug.wrappers import Response

from cluster.domain.errors import Conflict, NotFound, Refused
from cluster.domain.states import CodeState, TrainingKind
from cluster.services import code_uploads, code_versions, trainings
from cluster.store.trainings import CodeVersion, Training
from portal.i18n.translate import _
from portal.job_files.written_files import archive_files
from portal.presenters.code.git_source_panel import read_git_source_panel
from portal.presenters.training_code import compare_versions, files_below, read_code_tab
from portal.web import forms, query_params, uploads
from portal.web.request_context import current_actor, current_cluster
from portal.web.responses.file_responses import requested_range, send_file_so_far
from portal.web.responses.fragments import render_page_or_fragment

blueprint = Blueprint("training_code", __name__)


@blueprint.get("/trainings/<int:training_id>/code")
def page(training_id: int) -> Response:
    """`?version=` is the shown version (the newest by default), `?path=` a folder or a file of it."""
    return render_code(training_id, {})


def render_code(training_id: int, errors: dict[str, str], status: int = 200) -> Response:
    cluster, actor = current_cluster(), current_actor()
    training = read_own_code(training_id)
    versions = code_versions.list_code_versions(cluster, training)
    number = query_params.id_param("version")
    version = next((one for one in versions if one.number == (number or training.code_version)), None)
    if number and version is None:
        raise NotFound("code_version", number)
    is_ready = version is not None and version.state is CodeState.READY
    path = request.args.get("path", "")
    return render_page_or_fragment(
        "training_code/page.html",
        f"training_code/_{query_params.choice_param('fragment', ('page', 'versions'), 'page')}.html",
        status,
        training=training,
        versions=versions,
        version=version,
        tab=read_code_tab(cluster, training, version, path) if version and is_ready else None,
        is_newest=version is not None and version.number == training.code_version,
        may_upload=code_uploads.can_upload_code(actor, training) and training.archived_at is None,
        git=read_git_source_panel(cluster, training),
        errors=errors,
        current_url_with=query_params.current_url_with,
    )


def read_own_code(training_id: int) -> Training:
    """Raises NotFound, also for a built-in model, which has no code here."""
    training = trainings.read_training(current_cluster(), current_actor(), training_id)
    if training.kind is TrainingKind.BUILT_IN:
        raise NotFound("training", training_id)
    return training


@blueprint.post("/trainings/<int:training_id>/code")
def upload(training_id: int) -> Response:
    """Makes a new version beside the old ones; jobs keep the version with which they were made. Files that are not
    uploaded again stay.
    """
    try:
        forms.require_known_fields("base")
        files = uploads.read_code_files()
        if not files:
            raise Refused("code", "code.missing")
        version = trainings.upload_code(
            current_cluster(), current_actor(), training_id, files, (), base_field()
        )
    except (Refused, Conflict) as refusal:
        return render_code(training_id, forms.error_messages(refusal), 422)
    return go_to_version(training_id, version)


@blueprint.post("/trainings/<int:training_id>/code/remove")
def remove(training_id: int) -> Response:
    """Makes a new version without the chosen files and folders; the version before keeps them."""
    try:
        forms.require_known_fields("base", "removed")
        removed = forms.text_fields("removed")
        if not removed:
            raise Refused("removed", "code.nothing_chosen")
        version = trainings.upload_code(
            current_cluster(), current_actor(), training_id, (), removed, base_field()
        )
    except (Refused, Conflict) as refusal:
        return render_code(training_id, forms.error_messages(refusal), 422)
    return go_to_version(training_id, version)


def base_field() -> int | None:
    return query_params.parse_id(request.form, "base")


def go_to_version(training_id: int, version: CodeVersion) -> Response:
    if version.state is CodeState.READY:
        flash(_("Version %(version)s is what new jobs run.", version=version.number), "ok")
    else:
        flash(_("Version %(version)s is being unpacked.", version=version.number), "ok")
    return redirect(url_for("training_code.page", training_id=training_id), 303)


@blueprint.get("/trainings/<int:training_id>/code/<int:number>/download")
def download(training_id: int, number: int) -> Response:
    """Sends the file at `?path=`, whatever its type, as an attachment. Raises NotFound."""
    cluster, training = current_cluster(), read_own_code(training_id)
    path = request.args.get("path", "")
    code_versions.read_ready_version(cluster, training, number)
    with code_versions.open_code_file(cluster.settings, training, number, path) as file:
        response = send_file_so_far(file, "application/octet-stream", requested_range())
    response.headers.set("Content-Disposition", "attachment", filename=path.rsplit("/", 1)[-1])
    return response


@blueprint.get("/trainings/<int:training_id>/code/<int:number>/archive")
def archive(training_id: int, number: int) -> Response:
    """Sends the version, or the folder at `?path=`, as a zip archive. Raises NotFound."""
    cluster, training = current_cluster(), read_own_code(training_id)
    manifest = code_versions.read_manifest(cluster, training, number)
    path = request.args.get("path", "").strip("/")
    paths = files_below(manifest, path)
    place = (*code_versions.code_parts(training, number), *(name for name in path.split("/") if name))
    response = Response(archive_files(cluster.settings.storage_dir, place, paths), mimetype="application/zip")
    name = "-".join(
        [training.name, f"v{number}", *path.split("/")[-1:]] if path else [training.name, f"v{number}"]
    )
    response.headers.set("Content-Disposition", "attachment", filename=f"{name}.zip")
    return response


@blueprint.get("/trainings/<int:training_id>/code/compare")
def compare(training_id: int) -> str:
    """Shows the difference between the versions `?before=` and `?after=`."""
    cluster, training = current_cluster(), read_own_code(training_id)
    ready = [
        one.number
        for one in code_versions.list_code_versions(cluster, training)
        if one.state is CodeState.READY
    ]
    if not ready:
        raise NotFound("code_version")
    after = query_params.id_param("after") or ready[0]
    earlier = [number for number in ready if number < after]
    before = query_params.id_param("before") or (earlier[0] if earlier else after)
    return render_template(
        "training_code/compare.html",
        training=training,
        numbers=ready,
        before=before,
        after=after,
        comparison=compare_versions(cluster, training, before, after),
    )
