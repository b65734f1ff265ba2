"""Streams a file that may still grow: exactly the bytes that it has when the response starts, or a range of them.

The files of a job may be read by its own user and by the services (0640 in folders of 2750). nginx runs as a user that
is neither, so that it could send none of them.
"""

from collections.abc import Iterator
from typing import BinaryIO

from flask import request
from werkzeug.datastructures import ContentRange, Range
from werkzeug.exceptions import RequestedRangeNotSatisfiable
from werkzeug.wrappers import Response

from cluster.files.safe_read import duplicate_file, open_file_size

CHUNK_BYTES = 256 * 1024


def send_file_so_far(
    file: BinaryIO, mimetype: str = "text/plain", wanted_range: Range | None = None
) -> Response:
    """The answer has a handle of its own, which is closed with it; `file` may be closed at once.

    A range is answered by 206; several at once by the whole file, as RFC 9110 allows. Raises
    RequestedRangeNotSatisfiable.
    """
    size = open_file_size(file)
    start, stop = range_of_file(wanted_range, size)
    own = duplicate_file(file)
    response = Response(read_chunks(own, start, stop), mimetype=mimetype)
    response.call_on_close(own.close)
    response.content_length = stop - start
    response.accept_ranges = "bytes"
    if (start, stop) != (0, size):
        response.status_code = 206
        response.content_range = ContentRange("bytes", start, stop, size)
    return response


def requested_range() -> Range | None:
    """Returns None if the request has If-Range: a growing file has no validator for one of its states, so the whole
    file is sent.
    """
    return None if "If-Range" in request.headers else request.range


def range_of_file(wanted: Range | None, size: int) -> tuple[int, int]:
    if wanted is None or wanted.units != "bytes" or len(wanted.ranges) != 1:
        return 0, size
    found = wanted.range_for_length(size)
    if found is None:
        raise RequestedRangeNotSatisfiable(length=size)
    return found


def read_chunks(file: BinaryIO, start: int, stop: int) -> Iterator[bytes]:
    """The bytes from `start` to `stop`; fewer if the file was cut meanwhile. Closes the file."""
    size = stop - start
    with file:
        file.seek(start)
        while size > 0 and (part := file.read(min(CHUNK_BYTES, size))):
            size -= len(part)
            yield part
