"""Follows the event bus in one thread per process and delivers every event to the queue of each open tab."""

import queue
import threading
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field

import redis

from cluster.event_bus import BusEvent, connect_redis, follow_events, read_events_after

QUEUE_LENGTH = 200


@dataclass(eq=False)
class TabQueue:
    """A tab's queue. One that is not emptied is lost: the tab comes back and names where it was."""

    events: "queue.Queue[BusEvent | None]" = field(default_factory=lambda: queue.Queue(QUEUE_LENGTH))
    """None wakes the tab without an event: its files have changed."""
    has_overflowed: bool = False

    def wake(self) -> None:
        with suppress(queue.Full):  # A tab with a full queue is awake.
            self.events.put_nowait(None)


class EventHub:
    """Without Redis no events arrive; open streams still send heartbeats and file sizes."""

    def __init__(self, redis_url: str) -> None:
        self.redis_url = redis_url
        self.tabs: set[TabQueue] = set()
        self.lock = threading.Lock()
        self.reader: threading.Thread | None = None

    @contextmanager
    def subscribe(self) -> Iterator[TabQueue]:
        listener = TabQueue()
        with self.lock:
            self.tabs.add(listener)
            if self.reader is None:
                # Begun with the first tab, so that it is a thread of the serving process, not of its parent.
                self.reader = threading.Thread(target=self.read_forever, name="event-hub", daemon=True)
                self.reader.start()
        try:
            yield listener
        finally:
            with self.lock:
                self.tabs.discard(listener)

    def read_forever(self) -> None:
        for batch in follow_events(connect_redis(self.redis_url)):
            for event in batch.events:
                self.deliver(event)

    def deliver(self, event: BusEvent) -> None:
        with self.lock:
            listeners = list(self.tabs)
        for listener in listeners:
            try:
                listener.events.put_nowait(event)
            except queue.Full:
                listener.has_overflowed = True

    def read_missed(self, last_id: str) -> Sequence[BusEvent]:
        """The events since `last_id`; empty if Redis does not answer or `last_id` is invalid."""
        with closing(connect_redis(self.redis_url)) as connection:
            try:
                return read_events_after(connection, last_id)
            except redis.RedisError:
                return ()
