"""The tab of a job that shows what its program wrote."""

from portal.presenters.jobs.job_page import JobView
from portal.presenters.shown_files import ShownFiles, read_shown_files


def read_files_tab(view: JobView, path: str) -> ShownFiles:
    """Raises NotFound for a path where nothing was written."""
    if view.files_deletion:
        return ShownFiles(())
    return read_shown_files(view.files.root, view.files.out, path)
