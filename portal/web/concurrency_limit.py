"""Limits how many requests of one session or token run at a time; further requests of the same client wait.

Python runs one thread at a time, so a client with forty requests in work would have forty shares of the process. The
client is identified by the cookie or token that it sends, before anything is read: a waiting request holds no
connection to the database.
"""

import hashlib
import threading
import time
from collections import OrderedDict
from dataclasses import dataclass, field

from flask import Flask, Response, g, request
from werkzeug.exceptions import TooManyRequests

from portal.shared_objects import share_object, shared_object
from portal.web.session_cookie import current_session_cookie
from portal.web.uploads import ARCHIVE_ENDPOINT

CONCURRENT_REQUESTS = 2
"""Requests of one session or token. More of them would be no sooner done, and everybody else would be later."""
MAX_OPEN_REQUESTS = 32
"""With those that wait; each holds a thread, see gunicorn.py."""
WAIT_SECONDS = 20.0
"""Seconds for which a request waits for others of its own session; gunicorn ends one that hangs after 30."""
REFUSED_SECONDS = 2.0
"""For this time a client that was refused another stream is refused again without reading anything."""
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
        """Waits for a slot. Raises TooManyRequests; the caller has to release a slot that it got."""
        with self.lock:
            slots = self.slots_by_client.setdefault(key, ClientSlots())
            if slots.open_requests >= MAX_OPEN_REQUESTS:
                raise TooManyRequests
            slots.open_requests += 1
        if not slots.semaphore.acquire(timeout=WAIT_SECONDS):
            self._leave(key, slots)
            raise TooManyRequests

    def release(self, key: bytes) -> None:
        slots = self.slots_by_client[key]
        slots.semaphore.release()
        self._leave(key, slots)

    def _leave(self, key: bytes, slots: ClientSlots) -> None:
        with self.lock:
            slots.open_requests -= 1
            if slots.open_requests == 0:
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
    share_object(app, ConcurrencyLimiter, ConcurrencyLimiter())
    app.before_request(acquire_slot)
    app.after_request(note_refused_stream)
    app.teardown_request(release_slot)


def acquire_slot() -> Response | None:
    """Streams and archive uploads take long and have limits of their own, so they take no slot."""
    key = client_key()
    if key is None or request.endpoint in (ARCHIVE_ENDPOINT, "static"):
        return None
    limiter = shared_object(ConcurrencyLimiter)
    if request.endpoint == STREAM_ENDPOINT:
        g.is_refused_again = request.method == "GET" and limiter.is_refused_for_now(key)
        return Response(status=429) if g.is_refused_again else None
    try:
        limiter.acquire(key)
    except TooManyRequests:
        g.is_bug = True  # The page that says so reads no rows.
        raise
    g.limited_client = key
    return None


def release_slot(_problem: BaseException | None) -> None:
    key: bytes | None = g.pop("limited_client", None)
    if key is not None:
        shared_object(ConcurrencyLimiter).release(key)


def note_refused_stream(response: Response) -> Response:
    """A repeated refusal does not extend the time: a client that keeps asking is answered again after a while."""
    if request.endpoint == STREAM_ENDPOINT and response.status_code == 429:
        key = client_key()
        if key is not None and not g.get("is_refused_again"):
            shared_object(ConcurrencyLimiter).note_refusal(key)
        response.headers.setdefault("Retry-After", "30")
    return response


def client_key() -> bytes | None:
    """A digest of the session's cookie or of the token; None if neither was sent."""
    sent = request.headers.get("Authorization") or request.cookies.get(current_session_cookie(), "")
    return hashlib.blake2b(sent.encode(), digest_size=16).digest() if sent else None
