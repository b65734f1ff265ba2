"""Limits how many requests of one session or token run at a time; further requests of the same client wait.

Python runs one thread at a time, so whoever has forty requests in work has forty shares of the process. Sessions and
tokens are told apart by what they send, before anything is read: who waits holds no connection to the database.
"""

import hashlib
import threading
import time
from collections import OrderedDict
from dataclasses import dataclass, field

from flask import Flask, Response, current_app, g, request
from werkzeug.exceptions import TooManyRequests

from portal.web.session_cookie import current_session_cookie
from portal.web.uploads import ARCHIVE_ENDPOINT

CONCURRENT_REQUESTS = 2
"""Requests of one session or token. More of them would be no sooner done, and everybody else would be later."""
MAX_OPEN_REQUESTS = 32
"""With those that wait; each holds a thread, see gunicorn.py."""
WAIT_SECONDS = 20.0
"""Seconds for which a request waits for others of its own session; gunicorn ends one that hangs after 30."""
REFUSED_SECONDS = 2.0
"""For so long a session that was refused another stream is refused again without a question."""
MAX_REFUSED_CLIENTS = 4096
STREAM_ENDPOINT = "stream.stream"


@dataclass
class ClientSlots:
    """`open_requests`: in work or waiting."""

    semaphore: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(CONCURRENT_REQUESTS))
    open_requests: int = 0


class ConcurrencyLimiter:
    """One per process."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.slots_by_client: dict[bytes, ClientSlots] = {}
        self.refused_until: OrderedDict[bytes, float] = OrderedDict()

    def acquire(self, key: bytes) -> None:
        """Waits for a place. Raises TooManyRequests; a place that was given has to be given back."""
        with self.lock:
            line = self.slots_by_client.setdefault(key, ClientSlots())
            if line.open_requests >= MAX_OPEN_REQUESTS:
                raise TooManyRequests
            line.open_requests += 1
        if not line.semaphore.acquire(timeout=WAIT_SECONDS):
            self._leave_line(key, line)
            raise TooManyRequests

    def release(self, key: bytes) -> None:
        line = self.slots_by_client[key]
        line.semaphore.release()
        self._leave_line(key, line)

    def _leave_line(self, key: bytes, line: ClientSlots) -> None:
        with self.lock:
            line.open_requests -= 1
            if line.open_requests == 0:
                del self.slots_by_client[key]

    def note_refusal(self, key: bytes) -> None:
        with self.lock:
            self.refused_until[key] = time.monotonic() + REFUSED_SECONDS
            self.refused_until.move_to_end(key)
            while len(self.refused_until) > MAX_REFUSED_CLIENTS:
                self.refused_until.popitem(last=False)

    def is_refused_for_now(self, key: bytes) -> bool:
        return self.refused_until.get(key, 0.0) > time.monotonic()


def init_app(app: Flask) -> None:
    app.extensions["concurrency_limiter"] = ConcurrencyLimiter()
    app.before_request(acquire_slot)
    app.after_request(note_refused_stream)
    app.teardown_request(release_slot)


def acquire_slot() -> Response | None:
    """Streams and archive uploads take long and have limits of their own, so they take no slot."""
    key = client_key()
    if key is None or request.endpoint in (ARCHIVE_ENDPOINT, "static"):
        return None
    share: ConcurrencyLimiter = current_app.extensions["concurrency_limiter"]
    if request.endpoint == STREAM_ENDPOINT:
        g.is_refused_again = request.method == "GET" and share.is_refused_for_now(key)
        return Response(status=429) if g.is_refused_again else None
    try:
        share.acquire(key)
    except TooManyRequests:
        g.is_bug = True  # The page that says so reads no rows.
        raise
    g.share_of = key
    return None


def release_slot(_problem: BaseException | None) -> None:
    key: bytes | None = g.pop("share_of", None)
    if key is not None:
        current_app.extensions["concurrency_limiter"].release(key)


def note_refused_stream(response: Response) -> Response:
    """A session that keeps asking is heard again after a while: it is not remembered anew each time."""
    if request.endpoint == STREAM_ENDPOINT and response.status_code == 429:
        key = client_key()
        if key is not None and not g.get("is_refused_again"):
            current_app.extensions["concurrency_limiter"].note_refusal(key)
        response.headers.setdefault("Retry-After", "30")
    return response


def client_key() -> bytes | None:
    """A digest of the session's cookie or of the token; None where neither was sent."""
    sent = request.headers.get("Authorization") or request.cookies.get(current_session_cookie(), "")
    return hashlib.blake2b(sent.encode(), digest_size=16).digest() if sent else None
