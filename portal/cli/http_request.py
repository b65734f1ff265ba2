"""Sends an HTTP request by the standard library, which loads much faster than an HTTP package."""

import hashlib
import http.client
import json
import os
import secrets
import ssl
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO
from urllib.parse import urlencode, urlsplit

TIMEOUT_SECONDS = 30
UPLOAD_TIMEOUT_SECONDS = 900
"""Seconds to wait for an answer. The server answers an upload once the archive lies on its disk."""
PIECE_BYTES = 256 * 1024


class Response:
    """An answer. `headers` is case-insensitive. The body has been read; that of a success was written into `sink` if
    one was given.
    """

    def __init__(self, answer: http.client.HTTPResponse, sink: BinaryIO | None = None) -> None:
        self.status = answer.status
        self.headers = answer.headers
        self.content = b""
        if sink is None or answer.status != http.client.OK:
            self.content = answer.read()
            return
        while piece := answer.read(PIECE_BYTES):
            sink.write(piece)
        if answer.length:
            raise ConnectionError(f"{answer.length} bytes are missing")

    def json(self) -> Any:
        return json.loads(self.content)


def send_request(
    method: str,
    url: str,
    headers: dict[str, str],
    query: dict[str, Any],
    body: dict[str, Any] | None = None,
    ca_file: str = "",
    sink: BinaryIO | None = None,
) -> Response:
    """Follows no redirect and uses no proxy. Raises OSError or http.client.HTTPException if there is no answer."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ConnectionError(f"{url} is no http:// or https:// address")
    target = parts.path + (f"?{urlencode(query)}" if query else "")
    connection = connect(parts.scheme, parts.hostname, parts.port, ca_file)
    try:
        if body is None:
            connection.request(method, target, headers=headers)
        else:
            encoded = json.dumps(body, ensure_ascii=False).encode()
            connection.request(method, target, encoded, headers | {"Content-Type": "application/json"})
        return Response(connection.getresponse(), sink)
    finally:
        connection.close()


@dataclass(frozen=True)
class FileUpload:
    """A form with a file, which is read while it is sent. `report` is called with the number of bytes of the file that
    were sent.
    """

    fields: Mapping[str, str]
    field: str
    path: Path
    report: Callable[[int], None] = lambda _bytes: None


def send_file(url: str, headers: dict[str, str], upload: FileUpload, ca_file: str = "") -> Response:
    """Posts multipart/form-data. Raises OSError or http.client.HTTPException if there is no answer."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ConnectionError(f"{url} is no http:// or https:// address")
    boundary = secrets.token_hex(16)
    begin = "".join(
        f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'
        for name, value in upload.fields.items()
    )
    name = upload.path.name.translate({ord('"'): "%22", 10: "%0A", 13: "%0D"})
    begin += (
        f'--{boundary}\r\nContent-Disposition: form-data; name="{upload.field}"; filename="{name}"\r\n'
        "Content-Type: application/octet-stream\r\n\r\n"
    )
    head, tail = begin.encode(), f"\r\n--{boundary}--\r\n".encode()
    connection = connect(parts.scheme, parts.hostname, parts.port, ca_file, UPLOAD_TIMEOUT_SECONDS)
    try:
        with upload.path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            all_headers = headers | {
                "Content-Type": f"multipart/form-data; boundary={boundary}",
                "Content-Length": str(len(head) + size + len(tail)),
            }
            body = iterate_body(head, file, size, tail, upload.report)
            # A server that refuses the upload because of its headers answers before it has read the body.
            with suppress(BrokenPipeError, ConnectionResetError):
                connection.request("POST", parts.path, body, all_headers)
        return Response(connection.getresponse())
    finally:
        connection.close()


def iterate_body(
    head: bytes, file: BinaryIO, size: int, tail: bytes, report: Callable[[int], None]
) -> Iterator[bytes]:
    """Exactly `size` bytes of the file, also if it grows meanwhile. Raises OSError if it becomes shorter."""
    yield head
    while size:
        piece = file.read(min(PIECE_BYTES, size))
        if not piece:
            raise OSError(f"{size} bytes are missing: the file became shorter")
        yield piece
        size -= len(piece)
        report(len(piece))
    yield tail


def connect(
    scheme: str, host: str, port: int | None, ca_file: str, timeout: float = TIMEOUT_SECONDS
) -> http.client.HTTPConnection:
    if scheme == "http":
        return http.client.HTTPConnection(host, port, timeout=timeout)
    trusted = ssl.create_default_context(cafile=ca_file or None)
    return http.client.HTTPSConnection(host, port, timeout=timeout, context=trusted)


def fetch_authority(url: str, fingerprint: str) -> str | None:
    """The certificate authority of a server, in PEM; None if its SHA-256 is not `fingerprint` (hexadecimal).

    Nothing else of this connection is trusted. Raises OSError or http.client.HTTPException if no answer comes.
    """
    parts = urlsplit(url)
    anybody = ssl.create_default_context()
    anybody.check_hostname, anybody.verify_mode = False, ssl.CERT_NONE
    connection = http.client.HTTPSConnection(
        parts.hostname or "", parts.port, timeout=TIMEOUT_SECONDS, context=anybody
    )
    try:
        connection.request("GET", "/authority.pem")
        answer = Response(connection.getresponse())
    finally:
        connection.close()
    try:
        certificate = answer.content.decode("ascii")
        seen = hashlib.sha256(ssl.PEM_cert_to_DER_cert(certificate)).hexdigest()
    except ValueError:
        return None
    return certificate if answer.status == 200 and seen == fingerprint.replace(":", "").lower() else None
