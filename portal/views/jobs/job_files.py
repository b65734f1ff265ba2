"""Serves what a job's program wrote: single files as downloads, folders as zip archives."""

from flask import Blueprint, request
from werkzeug.wrappers import Response

from cluster.services.jobs.file_deletions import require_files
from portal.presenters.jobs.written_file_download import send_written_file, send_written_folder
from portal.views.jobs.job_log import read_job_view_of_request

blueprint = Blueprint("job_files", __name__)


@blueprint.get("/jobs/<int:job_id>/files/download")
def download(job_id: int) -> Response:
    """Sends the file at `?path=` below `out`, whatever its type, as an attachment. Raises NotFound."""
    view = read_job_view_of_request(job_id)
    require_files(view.job)
    return send_written_file(view, request.args.get("path", ""))


@blueprint.get("/jobs/<int:job_id>/files/archive")
def archive(job_id: int) -> Response:
    """The folder at `?path=` below `out` as a zip archive. Raises NotFound or Refused."""
    view = read_job_view_of_request(job_id)
    require_files(view.job)
    return send_written_folder(view, request.args.get("path", ""))
