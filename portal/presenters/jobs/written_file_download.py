"""Answers with one file that a job's program wrote, as pages and REST send it."""

from werkzeug.wrappers import Response

from cluster.domain.errors import NotFound
from cluster.files.safe_read import FileMissing, FileNotPlain, open_file_beneath
from portal.job_files.written_files import split_path
from portal.presenters.jobs.job_page import JobView
from portal.web.file_responses import requested_range, send_file_so_far


def send_written_file(view: JobView, path: str) -> Response:
    """Raises NotFound."""
    names = split_path(path)
    try:
        if not names:
            raise FileNotPlain(path)
        with open_file_beneath(view.files.root, *view.files.out, *names) as file:
            response = send_file_so_far(file, "application/octet-stream", requested_range())
    except (FileMissing, FileNotPlain) as error:
        raise NotFound("file", path[:200]) from error
    return attach(response, view, names[-1])


def attach(response: Response, view: JobView, name: str, ending: str = "") -> Response:
    filename = f"job-{view.job.id}-attempt-{view.number}-{name}{ending}"
    response.headers.set("Content-Disposition", "attachment", filename=filename)
    return response
