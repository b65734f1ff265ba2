"""Serves what a job's program wrote: single files as downloads, folders as zip archives."""

from flask import Blueprint, request
from werkzeug.wrappers import Response

from cluster.domain.errors import NotFound
from cluster.files.safe_read import FileMissing, FileNotPlain
from cluster.services.jobs.file_deletions import require_files
from portal.job_files.written_files import archive_files, list_files_below, split_path
from portal.presenters.jobs.written_file_download import attach, send_written_file
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
    names = split_path(request.args.get("path", ""))
    place = (*view.files.out, *names)
    try:
        paths = list_files_below(view.files.root, *place)
    except (FileMissing, FileNotPlain) as error:
        raise NotFound("file", "/".join(names)[:200]) from error
    response = Response(archive_files(view.files.root, place, paths), mimetype="application/zip")
    return attach(response, view, names[-1] if names else "out", ".zip")
