"""Hears the doorbell, so that a commit is acted upon at once; deaf, it only takes a second longer."""

import time
from typing import Any

import redis
import structlog

from cluster.bell import STREAM

log = structlog.get_logger()
DEAF_SECONDS = 1.0


class Ears:
    """Remembers the last ring it heard, so that none between two waits is missed."""

    def __init__(self, connection: redis.Redis, topics: frozenset[str]) -> None:
        self.connection = connection
        self.topics = topics
        self.last: Any = None

    def wait(self, seconds: float) -> bool:
        """Until one of the topics rings, at most `seconds`; True where it rang."""
        deadline = time.monotonic() + seconds
        try:
            while (left := deadline - time.monotonic()) > 0:
                if self._hear(max(1, int(left * 1000))):
                    return True
        except redis.RedisError as error:
            log.warning("the doorbell is silent", error=str(error))
            time.sleep(min(DEAF_SECONDS, max(0.0, deadline - time.monotonic())))
        return False

    def listen_from_now(self) -> None:
        """Called before the first look at the rows; what rang earlier is in them."""
        try:
            newest: Any = self.connection.xrevrange(STREAM, count=1)
            self.last = newest[0][0] if newest else "0-0"
        except redis.RedisError:
            self.last = None

    def _hear(self, milliseconds: int) -> bool:
        if self.last is None:
            self.listen_from_now()
            if self.last is not None:
                return True  # Something may have rung while we were deaf.
        found: Any = self.connection.xread({STREAM: self.last or "$"}, block=milliseconds, count=1000)
        if not found:
            return False
        entries = found[0][1] if isinstance(found, list) else next(iter(found.values()))[0]
        self.last = entries[-1][0]
        return any(fields.get(b"topic", b"").decode() in self.topics for _, fields in entries)
