"""Shows what a dataset has, and serves it: a folder as a list, single files as downloads, folders as zip archives."""

from flask import Blueprint, render_template, request
from werkzeug.wrappers import Response

from cluster.services.datasets import read_dataset_files
from portal.presenters.file_downloads import send_file_below, send_folder_below
from portal.presenters.shown_files import read_shown_files
from portal.web.request_context import current_actor, current_cluster

blueprint = Blueprint("dataset_files", __name__)


@blueprint.get("/datasets/<int:dataset_id>/files")
def page(dataset_id: int) -> str:
    """The folder at `?path=`, or the beginning of the file there. Raises NotFound and Conflict."""
    dataset, files = read_dataset_files(current_cluster(), current_actor(), dataset_id)
    return render_template(
        "datasets/files.html",
        dataset=dataset,
        files=read_shown_files(files.root, files.top, request.args.get("path", ""), files.reader),
    )


@blueprint.get("/datasets/<int:dataset_id>/files/download")
def download(dataset_id: int) -> Response:
    """Sends the file at `?path=`, whatever its type, as an attachment. Raises NotFound and Conflict."""
    dataset, files = read_dataset_files(current_cluster(), current_actor(), dataset_id)
    return send_file_below(files.root, files.top, request.args.get("path", ""), dataset.name, files.reader)


@blueprint.get("/datasets/<int:dataset_id>/files/archive")
def archive(dataset_id: int) -> Response:
    """The folder at `?path=` as a zip archive. Raises NotFound, Conflict and Refused."""
    dataset, files = read_dataset_files(current_cluster(), current_actor(), dataset_id)
    return send_folder_below(files.root, files.top, request.args.get("path", ""), dataset.name, files.reader)
