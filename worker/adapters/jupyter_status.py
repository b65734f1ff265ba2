"""Asks a notebook's server over HTTP whether it is ready and when it was used.

The server runs its person's code, so of its answers only a time and a yes or no are used.
"""

import http.client
import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

ANSWER_SECONDS = 2.0
"""The limit for each piece of an answer, and for the whole answer."""
LARGEST_ANSWER = 256 * 1024


@dataclass(frozen=True)
class JupyterStatus:
    """`used_at` is the newest activity of a kernel or a terminal. None: there is none."""

    used_at: datetime | None
    is_busy: bool


@dataclass(frozen=True)
class JupyterServer:
    """The address of one notebook's server: a socket of this machine, or host and port."""

    base: str
    token: str
    path: Path | None = None
    address: str = ""

    def is_ready(self) -> bool:
        return isinstance(self._get("api", ""), dict)

    def read_status(self) -> JupyterStatus | None:
        """The server's answer; None if it does not answer as Jupyter does."""
        kernels, terminals = self._get("api/kernels", self.token), self._get("api/terminals", self.token)
        if not isinstance(kernels, list):
            return None
        entries = [*kernels, *(terminals if isinstance(terminals, list) else [])]
        times = [moment for entry in entries if (moment := parse_activity(entry)) is not None]
        busy = any(isinstance(each, dict) and each.get("execution_state") == "busy" for each in kernels)
        return JupyterStatus(max(times, default=None), busy)

    def _get(self, path: str, token: str) -> Any:
        connection = self._connection()
        headers = {"Authorization": f"token {token}"} if token else {}
        try:
            connection.request("GET", self.base + path, headers=headers)
            with ended_in_time(connection.sock):
                answer = connection.getresponse()
                content = read_limited(answer) if answer.status == 200 else b"null"
            return json.loads(content)
        except (OSError, http.client.HTTPException, ValueError, RecursionError):
            return None
        finally:
            connection.close()

    def _connection(self) -> http.client.HTTPConnection:
        if self.path is not None:
            return SocketConnection(self.path)
        host, _, port = self.address.rpartition(":")
        return http.client.HTTPConnection(host, int(port), timeout=ANSWER_SECONDS)


class SocketConnection(http.client.HTTPConnection):
    """HTTP over a unix socket."""

    def __init__(self, path: Path) -> None:
        super().__init__("localhost", timeout=ANSWER_SECONDS)
        self.path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(ANSWER_SECONDS)
        self.sock.connect(str(self.path))


@contextmanager
def ended_in_time(connected: socket.socket) -> Iterator[None]:
    """Ends the connection after a while. The server could send headers, chunks and trailers in pieces without end, each
    of them in time. It then raises TimeoutError, because the received part looks like a complete answer.
    """
    is_late = threading.Event()

    def end_connection() -> None:
        is_late.set()
        with suppress(OSError):  # The connection may have ended by itself.
            connected.shutdown(socket.SHUT_RDWR)

    ending = threading.Timer(ANSWER_SECONDS, end_connection)
    ending.start()
    try:
        yield
    finally:
        ending.cancel()
    if is_late.is_set():
        raise TimeoutError


def read_limited(answer: http.client.HTTPResponse) -> bytes:
    """Raises ValueError for an answer that is too long."""
    content = b""
    while piece := answer.read1(LARGEST_ANSWER):
        content += piece
        if len(content) > LARGEST_ANSWER:
            raise ValueError("too much")
    return content


def parse_activity(entry: object) -> datetime | None:
    text = entry.get("last_activity") if isinstance(entry, dict) else None
    try:
        moment = datetime.fromisoformat(text) if isinstance(text, str) else None
        return moment.astimezone(UTC) if moment is not None and moment.tzinfo is not None else None
    except (ValueError, OverflowError):
        return None
