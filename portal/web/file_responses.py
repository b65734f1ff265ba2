"""Streams a file that may still grow: exactly the bytes that it has when the response starts."""

from collections.abc import Iterator
from typing import BinaryIO

from werkzeug.wrappers import Response

from cluster.files.safe_read import duplicate_file, open_file_size

CHUNK_BYTES = 256 * 1024


def send_file_so_far(file: BinaryIO, mimetype: str = "text/plain") -> Response:
    """The answer has a handle of its own, which is closed with it; `file` may be closed at once."""
    own = duplicate_file(file)
    size = open_file_size(own)
    response = Response(read_chunks(own, size), mimetype=mimetype)
    response.call_on_close(own.close)
    response.content_length = size
    return response


def read_chunks(file: BinaryIO, size: int) -> Iterator[bytes]:
    """The first `size` bytes; fewer where the file was cut meanwhile. Closes the file."""
    with file:
        file.seek(0)
        while size > 0 and (part := file.read(min(CHUNK_BYTES, size))):
            size -= len(part)
            yield part
