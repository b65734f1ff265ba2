"""A few requests of one session or token are in work at a time; further ones wait for them, and nobody else does.

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

from portal.sign_in import cookie_name
from portal.uploads import ARCHIVE_ENDPOINT

IN_WORK = 2
"""Requests of one session or token. More of them would be no sooner done, and everybody else would be later."""
MOST = 32
"""With those that wait; each holds a thread, see gunicorn.py."""
PATIENCE = 20.0
"""Seconds for which a request waits for others of its own session; gunicorn ends one that hangs after 30."""
REFUSED_SECONDS = 2.0
"""For so long a session that was refused another stream is refused again without a question."""
MOST_REFUSED = 4096
STREAM = "stream.stream"


@dataclass
class Line:
    """`asked`: in work or waiting."""

    free: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(IN_WORK))
    asked: int = 0


class FairShare:
    """One per process."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.lines: dict[bytes, Line] = {}
        self.refused: OrderedDict[bytes, float] = OrderedDict()

    def enter(self, key: bytes) -> None:
        """Waits for a place. Raises TooManyRequests; a place that was given has to be given back."""
        with self.lock:
            line = self.lines.setdefault(key, Line())
            if line.asked >= MOST:
                raise TooManyRequests
            line.asked += 1
        if not line.free.acquire(timeout=PATIENCE):
            self._leave_line(key, line)
            raise TooManyRequests

    def leave(self, key: bytes) -> None:
        line = self.lines[key]
        line.free.release()
        self._leave_line(key, line)

    def _leave_line(self, key: bytes, line: Line) -> None:
        with self.lock:
            line.asked -= 1
            if line.asked == 0:
                del self.lines[key]

    def remember_refusal(self, key: bytes) -> None:
        with self.lock:
            self.refused[key] = time.monotonic() + REFUSED_SECONDS
            self.refused.move_to_end(key)
            while len(self.refused) > MOST_REFUSED:
                self.refused.popitem(last=False)

    def was_just_refused(self, key: bytes) -> bool:
        return self.refused.get(key, 0.0) > time.monotonic()


def init_app(app: Flask) -> None:
    app.extensions["fair_share"] = FairShare()
    app.before_request(begin)
    app.after_request(remember_refusal)
    app.teardown_request(end)


def begin() -> Response | None:
    """Not for streams and archives, which take long and have limits of their own."""
    key = asker()
    if key is None or request.endpoint in (ARCHIVE_ENDPOINT, "static"):
        return None
    share: FairShare = current_app.extensions["fair_share"]
    if request.endpoint == STREAM:
        g.is_refused_again = request.method == "GET" and share.was_just_refused(key)
        return Response(status=429) if g.is_refused_again else None
    try:
        share.enter(key)
    except TooManyRequests:
        g.is_bug = True  # The page that says so reads no rows.
        raise
    g.share_of = key
    return None


def end(_problem: BaseException | None) -> None:
    key: bytes | None = g.pop("share_of", None)
    if key is not None:
        current_app.extensions["fair_share"].leave(key)


def remember_refusal(response: Response) -> Response:
    """A session that keeps asking is heard again after a while: it is not remembered anew each time."""
    if request.endpoint == STREAM and response.status_code == 429:
        key = asker()
        if key is not None and not g.get("is_refused_again"):
            current_app.extensions["fair_share"].remember_refusal(key)
        response.headers.setdefault("Retry-After", "30")
    return response


def asker() -> bytes | None:
    """A digest of the session's cookie or of the token; None where neither was sent."""
    sent = request.headers.get("Authorization") or request.cookies.get(cookie_name(), "")
    return hashlib.blake2b(sent.encode(), digest_size=16).digest() if sent else None
