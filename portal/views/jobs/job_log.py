"""Serves a job's log: chunks by byte offset, the whole file as text or as a download."""

from flask import Blueprint, request
from werkzeug.wrappers import Response

from cluster.domain.errors import NotFound, Refused
from cluster.files.safe_read import FileMissing, FileNotPlain, open_file_beneath
from cluster.services.jobs import queries
from cluster.services.jobs.file_deletions import require_files
from portal.job_files import log_chunks
from portal.job_files.log_search import count_lines
from portal.presenters.jobs.job_log_tab import log_file_name, read_rank, read_stream_kind
from portal.presenters.jobs.job_page import JobView, read_job_view
from portal.web import query_params
from portal.web.file_responses import send_file_so_far
from portal.web.request_context import current_actor, current_cluster

MAX_OFFSET_DIGITS = 15

blueprint = Blueprint("job_log", __name__)


def read_job_view_of_request(job_id: int) -> JobView:
    job = queries.read_job(current_cluster(), current_actor(), job_id)
    return read_job_view(current_cluster(), job, query_params.id_param("attempt"))


def read_log_file_name() -> str:
    """The file that `rank` (a number, or `launcher`) and `stream` name. Raises Refused."""
    name = log_file_name(read_rank(), read_stream_kind())
    if not log_chunks.is_log_file_name(name):
        raise Refused("rank", "value.not_a_whole_number", value=read_rank())
    return name


def read_byte_offset() -> int:
    text = request.args.get("offset", "0")
    digits = text.removeprefix("-")
    if not (digits.isascii() and digits.isdigit() and len(digits) <= MAX_OFFSET_DIGITS):
        raise Refused("offset", "value.not_a_whole_number", value=text[:40])
    return int(text)


@blueprint.get("/jobs/<int:job_id>/log")
def chunk(job_id: int) -> Response:
    """At most 256 KiB of the file as it is, from `offset` (negative: from the end).

    X-Log-Start and X-Log-Next are the bytes' place, X-Log-EOF is 1 where the file ends there, X-Log-Line is
    the number of the first line where it is quick to count. What is no UTF-8 the reader's decoder replaces:
    changed bytes would no longer fit their offsets. What is no plain file is empty: the page says so beside it.
    """
    view, name, offset = read_job_view_of_request(job_id), read_log_file_name(), read_byte_offset()
    limit = query_params.id_param("limit")
    try:
        with open_file_beneath(view.files.root, *view.files.out, name) as file:
            chunk = log_chunks.read_log_chunk(
                file, offset, log_chunks.CHUNK_BYTES if limit is None else limit
            )
            line = count_lines(file, chunk.start)
    except (FileMissing, FileNotPlain):
        chunk, line = log_chunks.LogChunk(0, 0, 0, b""), 0
    response = Response(chunk.data, mimetype="text/plain")
    response.headers["X-Log-Start"] = str(chunk.start)
    response.headers["X-Log-Next"] = str(chunk.next)
    response.headers["X-Log-EOF"] = "1" if chunk.is_end else "0"
    if line is not None:
        response.headers["X-Log-Line"] = str(line + 1)
    return response


@blueprint.get("/jobs/<int:job_id>/log/raw")
def raw(job_id: int) -> Response:
    """The whole file as text in the browser."""
    return send_log(job_id, is_attachment=False)


@blueprint.get("/jobs/<int:job_id>/log/download")
def download(job_id: int) -> Response:
    return send_log(job_id, is_attachment=True)


def send_log(job_id: int, *, is_attachment: bool) -> Response:
    view, name = read_job_view_of_request(job_id), read_log_file_name()
    require_files(view.job)
    try:
        with open_file_beneath(view.files.root, *view.files.out, name) as file:
            response = send_file_so_far(file)
    except (FileMissing, FileNotPlain) as error:
        raise NotFound("log", name) from error
    if is_attachment:
        filename = f"job-{job_id}-attempt-{view.number}-{name}.log"
        response.headers.set("Content-Disposition", "attachment", filename=filename)
    return response
