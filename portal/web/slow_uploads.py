"""Ends uploads of archives that send too few bytes per minute, because each holds a thread of the portal."""

import socket
import threading
from collections.abc import Collection
from contextlib import suppress
from typing import IO

from flask import Flask, request
from werkzeug.exceptions import RequestTimeout

WINDOW_SECONDS = 60.0
"""Seconds in which an upload must send `MIN_BYTES` bytes. nginx waits longer, because it would give no answer."""
MIN_BYTES = 512 * 1024


class MinimumRateBody:
    """The body of a request whose sender must keep a minimum rate; `connection` is the sender's socket.

    Reading raises RequestTimeout once the sender was too slow; the answer can still be sent.
    """

    def __init__(
        self,
        body: IO[bytes],
        connection: socket.socket,
        window: float = WINDOW_SECONDS,
        least: int = MIN_BYTES,
    ) -> None:
        self.body, self.connection, self.window, self.least = body, connection, window, least
        self.received = self.received_before = 0
        self.is_too_slow = self.has_ended = False
        self.timer: threading.Timer | None = None

    def read(self, size: int = -1) -> bytes:
        if self.timer is None:
            self.start_timer()
        chunk = self.body.read(size)
        if self.is_too_slow:
            raise RequestTimeout
        self.received += len(chunk)
        return chunk

    def start_timer(self) -> None:
        if self.timer is not None:
            self.timer.cancel()
        self.timer = threading.Timer(self.window, self.check_rate)
        self.timer.daemon = True
        self.timer.start()

    def check_rate(self) -> None:
        if self.has_ended:
            return
        if self.received - self.received_before >= self.least:
            self.received_before = self.received
            self.start_timer()
            return
        self.is_too_slow = True
        # The thread that waits for the next chunk sees the end of the body.
        with suppress(OSError):
            self.connection.shutdown(socket.SHUT_RD)

    def end(self) -> None:
        self.has_ended = True
        if self.timer is not None:
            self.timer.cancel()


def init_app(app: Flask, endpoints: Collection[str]) -> None:
    """Watches the bodies of these endpoints alone."""

    def begin() -> None:
        connection = request.environ.get("gunicorn.socket")
        if request.endpoint in endpoints and request.method == "POST" and connection is not None:
            body = MinimumRateBody(request.environ["wsgi.input"], connection)
            request.environ["wsgi.input"] = request.environ["groundcrew.paced_body"] = body

    def end(error: BaseException | None) -> None:
        body = request.environ.get("groundcrew.paced_body")
        if body is not None:
            body.end()

    app.before_request(begin)
    app.teardown_request(end)
