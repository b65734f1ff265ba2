"""Answers with one file below a folder, or with a whole folder as a zip archive that is made while it is sent."""

from pathlib import Path

from werkzeug.wrappers import Response

from cluster.domain.errors import NotFound
from cluster.files.safe_read import FileMissing, FileNotPlain, FileReader, open_file_beneath
from portal.job_files.written_files import archive_files, list_files_below, split_path
from portal.web.responses.file_responses import requested_range, send_file_so_far


def send_file_below(
    root: Path, top: tuple[str, ...], path: str, title: str, reader: FileReader | None = None
) -> Response:
    """Answers with the file at `path` below `top`, whatever its type, as an attachment whose name begins with `title`.
    Raises NotFound.
    """
    names = split_path(path)
    try:
        if not names:
            raise FileNotPlain(path)
        with open_file_beneath(root, *top, *names, reader=reader) as file:
            response = send_file_so_far(file, "application/octet-stream", requested_range())
    except (FileMissing, FileNotPlain) as error:
        raise NotFound("file", path[:200]) from error
    return attach(response, f"{title}-{names[-1]}")


def send_folder_below(
    root: Path, top: tuple[str, ...], path: str, title: str, reader: FileReader | None = None
) -> Response:
    """Answers with the folder at `path` below `top`. Raises NotFound, and Refused for one that is too large for an
    archive.
    """
    names = split_path(path)
    place = (*top, *names)
    try:
        paths = list_files_below(root, *place, reader=reader)
    except (FileMissing, FileNotPlain) as error:
        raise NotFound("file", "/".join(names)[:200]) from error
    response = Response(archive_files(root, place, paths, reader), mimetype="application/zip")
    return attach(response, "-".join((title, *names[-1:])) + ".zip")


def attach(response: Response, filename: str) -> Response:
    response.headers.set("Content-Disposition", "attachment", filename=filename)
    return response
