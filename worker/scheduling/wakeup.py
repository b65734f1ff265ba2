"""The scheduler waits here until an event arrives from Redis or a run ends; without Redis it polls once a second."""

import os
import select
import threading
import time
from collections.abc import Collection
from typing import Any

import redis
import structlog

from cluster.event_bus import STREAM

log = structlog.get_logger()
RETRY_SECONDS = 1.0
BLOCK_SECONDS = 5.0
"""How long one question to Redis stays open; shorter than the connection's own patience."""


class Wakeup:
    """A thread listens to Redis and remembers the last ring it heard, so that none is missed between two waits."""

    def __init__(self, connection: redis.Redis, topics: frozenset[str], deaf_to: str = "") -> None:
        """`ignored_origin` is the origin of our own bell: what we did ourselves is no news."""
        self.connection = connection
        self.topics = topics
        self.ignored_origin = deaf_to
        self.last: Any = None
        self.event = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        self.listener: threading.Thread | None = None

    def wait(self, seconds: float, ends: Collection[int] = ()) -> bool:
        """Until one of the topics rings or one of the descriptors is readable, at most `seconds`.

        False where neither came.
        """
        self._ensure_listener()
        watched = select.poll()
        for descriptor in (self.event, *ends):
            watched.register(descriptor, select.POLLIN)
        heard = {descriptor for descriptor, _event in watched.poll(seconds * 1000)}
        if self.event in heard:
            os.eventfd_read(self.event)
        return bool(heard)

    def wake(self) -> None:
        """As if it had rung; may be called by a signal's handler."""
        os.eventfd_write(self.event, 1)

    def skip_to_newest(self) -> None:
        """Called before the first look at the rows; what rang earlier is in them."""
        try:
            newest: Any = self.connection.xrevrange(STREAM, count=1)
            self.last = newest[0][0] if newest else "0-0"
        except redis.RedisError:
            self.last = None

    def _ensure_listener(self) -> None:
        if self.listener is None:
            self.listener = threading.Thread(target=self._listen, name="ears", daemon=True)
            self.listener.start()

    def _listen(self) -> None:
        is_silent = False
        while True:
            try:
                if self._hear():
                    self.wake()
                is_silent = False
            except redis.RedisError as error:
                if not is_silent:
                    log.warning("the doorbell is silent", error=str(error))
                is_silent = True
                self.last = None
                time.sleep(RETRY_SECONDS)

    def _hear(self) -> bool:
        if self.last is None:
            self.skip_to_newest()
            if self.last is not None:
                return True  # Something may have rung while we were deaf.
        after: dict[Any, Any] = {STREAM: self.last or "$"}
        patience = int(BLOCK_SECONDS * 1000)
        found: Any = self.connection.xread(after, block=patience, count=1000)
        if not found:
            return False
        entries = found[0][1] if isinstance(found, list) else next(iter(found.values()))[0]
        self.last = entries[-1][0]
        return any(self._is_for_us(fields) for _, fields in entries)

    def _is_for_us(self, fields: dict[bytes, bytes]) -> bool:
        told = {name: fields.get(name.encode(), b"").decode(errors="replace") for name in ("topic", "by")}
        return told["topic"] in self.topics and (not self.ignored_origin or told["by"] != self.ignored_origin)
