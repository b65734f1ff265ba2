"""Serves a job's checkpoints as downloads."""

from flask import Blueprint
from werkzeug.wrappers import Response

from cluster.domain.errors import NotFound
from cluster.files import checkpoints
from cluster.files.safe_read import FileMissing, FileNotPlain, open_file_beneath
from cluster.services.jobs.file_deletions import require_files
from portal.views.jobs.job_log import read_job_view_of_request
from portal.web.responses.file_responses import requested_range, send_file_so_far

blueprint = Blueprint("job_checkpoints", __name__)


@blueprint.get("/jobs/<int:job_id>/checkpoints/<name>")
def download(job_id: int, name: str) -> Response:
    """Sends one file of `out/checkpoints`, whatever its type, as an attachment. Raises NotFound."""
    view = read_job_view_of_request(job_id)
    if not checkpoints.is_checkpoint_name(name):
        raise NotFound("checkpoint", name[:100])
    require_files(view.job)
    try:
        with open_file_beneath(view.files.root, *view.files.out, checkpoints.FOLDER, name) as file:
            response = send_file_so_far(file, "application/octet-stream", requested_range())
    except (FileMissing, FileNotPlain) as error:
        raise NotFound("checkpoint", name) from error
    filename = f"job-{job_id}-attempt-{view.number}-{name}"
    response.headers.set("Content-Disposition", "attachment", filename=filename)
    return response
