"""Answers with files that a job's program wrote, as pages and REST send them."""

from werkzeug.wrappers import Response

from portal.presenters.file_downloads import send_file_below, send_folder_below
from portal.presenters.jobs.job_page import JobView


def send_written_file(view: JobView, path: str) -> Response:
    """Raises NotFound."""
    return send_file_below(view.files.root, view.files.out, path, download_title(view))


def send_written_folder(view: JobView, path: str) -> Response:
    """Raises NotFound or Refused."""
    title = download_title(view) if path.strip("/") else f"{download_title(view)}-out"
    return send_folder_below(view.files.root, view.files.out, path, title)


def download_title(view: JobView) -> str:
    return f"job-{view.job.id}-attempt-{view.number}"
