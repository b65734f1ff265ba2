"""Limits how many requests of one session or token run at a time; further requests of the same client wait.

Python runs one thread at a time, so a client with forty running requests would have forty shares of the process. The
client is identified by the cookie or token that it sends, before anything is read: a waiting request holds no
connection to the database.
"""

import hashlib
import threading
from dataclasses import dataclass, field

from flask import Flask, g, request
from werkzeug.exceptions import TooManyRequests

from portal.shared_objects import share_object, shared_object
from portal.web.session_cookie import current_session_cookie
from portal.web.uploads import ARCHIVE_ENDPOINTS

THREADS = 256
"""The threads of each process that serves requests. They are started as they are needed."""
CONCURRENT_REQUESTS = 2
"""Requests of one session or token in each process. More of them would not end sooner, and would delay all other
people.
"""
MAX_OPEN_REQUESTS = 32
"""The limit includes requests that wait; each holds a thread."""
WAIT_SECONDS = 20.0
"""Seconds for which a request waits for others of its own session; gunicorn ends one that hangs after 30."""


@dataclass
class ClientSlots:
    """`open_requests` are those that run or wait."""

    semaphore: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(CONCURRENT_REQUESTS))
    open_requests: int = 0


class ConcurrencyLimiter:
    """There is one per process, because it divides the process' threads and time. With two processes a client may have
    twice as much.
    """

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.slots_by_client: dict[bytes, ClientSlots] = {}

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


def init_app(app: Flask) -> None:
    share_object(app, ConcurrencyLimiter, ConcurrencyLimiter())
    app.before_request(acquire_slot)
    app.teardown_request(release_slot)


def acquire_slot() -> None:
    """Archive uploads take long and have limits of their own, so they take no slot."""
    key = client_key()
    if key is None or request.endpoint in (*ARCHIVE_ENDPOINTS, "static"):
        return
    try:
        shared_object(ConcurrencyLimiter).acquire(key)
    except TooManyRequests:
        g.is_bug = True  # The page of this refusal reads no rows.
        raise
    g.limited_client = key


def release_slot(_problem: BaseException | None) -> None:
    key: bytes | None = g.pop("limited_client", None)
    if key is not None:
        shared_object(ConcurrencyLimiter).release(key)


def client_key() -> bytes | None:
    """A digest of the session's cookie or of the token; None if neither was sent."""
    sent = request.headers.get("Authorization") or request.cookies.get(current_session_cookie(), "")
    return hashlib.blake2b(sent.encode(), digest_size=16).digest() if sent else None
