"""Sends an HTTP request by the standard library, which loads much faster than an HTTP package."""

import hashlib
import http.client
import json
import ssl
from typing import Any, BinaryIO
from urllib.parse import urlencode, urlsplit

TIMEOUT_SECONDS = 30
PIECE_BYTES = 256 * 1024


class Response:
    """`headers` is case-insensitive; the body has been read, that of a success into `sink` where there is one."""

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


def connect(scheme: str, host: str, port: int | None, ca_file: str) -> http.client.HTTPConnection:
    if scheme == "http":
        return http.client.HTTPConnection(host, port, timeout=TIMEOUT_SECONDS)
    trusted = ssl.create_default_context(cafile=ca_file or None)
    return http.client.HTTPSConnection(host, port, timeout=TIMEOUT_SECONDS, context=trusted)


def fetch_authority(url: str, fingerprint: str) -> str | None:
    """The certificate authority of a server, in PEM; None if its SHA-256 is not `fingerprint` (hexadecimal).

    Nothing else is believed of this connection. Raises OSError or http.client.HTTPException if no answer comes.
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
