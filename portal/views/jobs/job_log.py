"""Serves a job's whole log as text or as a download. Chunks come from portal/live/log_answers.py."""

from flask import Blueprint
from werkzeug.wrappers import Response

from cluster.domain.errors import NotFound, Refused
from cluster.files.safe_read import FileMissing, FileNotPlain, open_file_beneath
from cluster.services.jobs import queries
from cluster.services.jobs.file_deletions import read_attempt_with_files
from portal.job_files.folders import out_path_parts
from portal.job_files.logs import log_chunks
from portal.presenters.jobs.job_page import JobView, read_job_view
from portal.presenters.jobs.logs.job_log_tab import read_rank, read_stream_kind
from portal.web import query_params
from portal.web.request_context import current_actor, current_cluster
from portal.web.responses.file_responses import requested_range, send_file_so_far

blueprint = Blueprint("job_log", __name__)


def read_job_view_of_request(job_id: int) -> JobView:
    job = queries.read_job(current_cluster(), current_actor(), job_id)
    return read_job_view(current_cluster(), job, query_params.id_param("attempt"))


def read_log_file_name() -> str:
    """The file that `rank` (a number, or `launcher`) and `stream` name. Raises Refused."""
    name = log_chunks.log_file_name(read_rank(), read_stream_kind())
    if not log_chunks.is_log_file_name(name):
        raise Refused("rank", "value.not_a_whole_number", value=read_rank())
    return name


@blueprint.get("/jobs/<int:job_id>/log/raw")
def raw(job_id: int) -> Response:
    """The whole file as text in the browser."""
    return send_log(job_id, is_attachment=False)


@blueprint.get("/jobs/<int:job_id>/log/download")
def download(job_id: int) -> Response:
    return send_log(job_id, is_attachment=True)


def send_log(job_id: int, *, is_attachment: bool) -> Response:
    cluster, name = current_cluster(), read_log_file_name()
    attempt = read_attempt_with_files(cluster, current_actor(), job_id, query_params.id_param("attempt"))
    folder = out_path_parts(attempt.workspace_id, job_id, attempt.number)
    try:
        with open_file_beneath(cluster.settings.storage_dir, *folder, name) as file:
            response = send_file_so_far(file, wanted_range=requested_range())
    except (FileMissing, FileNotPlain) as error:
        raise NotFound("log", name) from error
    if is_attachment:
        filename = f"job-{job_id}-attempt-{attempt.number}-{name}.log"
        response.headers.set("Content-Disposition", "attachment", filename=filename)
    return response
