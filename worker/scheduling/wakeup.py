"""The scheduler waits here until an event arrives from Redis or a run ends; without Redis it polls once a second."""

import os
import select
import threading
from collections.abc import Collection

import redis

from cluster.event_bus import BusEvent, follow_events, read_newest_event_id


class Wakeup:
    """A thread follows the event bus from where it was before the first pass, so that no event is missed between two
    waits."""

    def __init__(self, connection: redis.Redis, topics: frozenset[str], ignored_origin: str = "") -> None:
        """`ignored_origin` is that of our own event bus: what we did ourselves is no news."""
        self.connection = connection
        self.topics = topics
        self.ignored_origin = ignored_origin
        self.start_id: str | None = None
        self.event = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        self.listener: threading.Thread | None = None

    def wait(self, seconds: float, ends: Collection[int] = ()) -> bool:
        """Waits until an event of one of the topics arrives or one of the descriptors is readable, at most `seconds`.

        False if neither happened.
        """
        self._ensure_listener()
        poll = select.poll()
        for descriptor in (self.event, *ends):
            poll.register(descriptor, select.POLLIN)
        readable = {descriptor for descriptor, _event in poll.poll(seconds * 1000)}
        if self.event in readable:
            os.eventfd_read(self.event)
        return bool(readable)

    def wake(self) -> None:
        """Ends the wait as an event does; a signal handler may call it."""
        os.eventfd_write(self.event, 1)

    def skip_to_newest(self) -> None:
        """Called before the first pass reads the rows: they contain what earlier events tell of."""
        try:
            self.start_id = read_newest_event_id(self.connection)
        except redis.RedisError:
            self.start_id = None

    def _ensure_listener(self) -> None:
        if self.listener is None:
            self.listener = threading.Thread(target=self._listen, name="wakeup", daemon=True)
            self.listener.start()

    def _listen(self) -> None:
        for batch in follow_events(self.connection, self.start_id):
            if batch.has_gap or any(self._is_for_us(event) for event in batch.events):
                self.wake()

    def _is_for_us(self, event: BusEvent) -> bool:
        return event.topic in self.topics and (not self.ignored_origin or event.origin != self.ignored_origin)
