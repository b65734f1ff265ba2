"""One HTTP request by the standard library: the command starts in half the time that an HTTP package needs to load."""

import http.client
import json
import ssl
from typing import Any
from urllib.parse import urlencode, urlsplit

TIMEOUT_SECONDS = 30


class Response:
    """`headers` is case-insensitive; the body has been read."""

    def __init__(self, answer: http.client.HTTPResponse) -> None:
        self.status = answer.status
        self.headers = answer.headers
        self.content = answer.read()

    def json(self) -> Any:
        return json.loads(self.content)


def send_request(
    method: str,
    url: str,
    headers: dict[str, str],
    query: dict[str, Any],
    body: dict[str, Any] | None = None,
    ca_file: str = "",
) -> Response:
    """Follows no redirect and asks no proxy. Raises OSError or http.client.HTTPException if no answer comes."""
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
        return Response(connection.getresponse())
    finally:
        connection.close()


def connect(scheme: str, host: str, port: int | None, ca_file: str) -> http.client.HTTPConnection:
    if scheme == "http":
        return http.client.HTTPConnection(host, port, timeout=TIMEOUT_SECONDS)
    trusted = ssl.create_default_context(cafile=ca_file or None)
    return http.client.HTTPSConnection(host, port, timeout=TIMEOUT_SECONDS, context=trusted)
