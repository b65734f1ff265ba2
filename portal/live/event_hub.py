"""Reads the Redis event stream in one thread per process and delivers every event to the queue of each open tab."""

import queue
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

import redis
import structlog

from cluster.event_bus import STREAM, connect_redis

log = structlog.get_logger()

BLOCK_MS = 5_000
"""Shorter than the connection's own time limit, so that silence is not an error."""
RETRY_SECONDS = 1.0
QUEUE_LENGTH = 200
MAX_MISSED_EVENTS = 1_000


@dataclass(frozen=True)
class BusEvent:
    """`id` is Redis' own and grows: a browser that comes back names the last one it heard."""

    id: str
    topic: str
    row_id: int


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
        connection = connect_redis(self.redis_url)
        last: str | None = None
        is_silent = False
        while True:
            try:
                last = last or newest_event_id(connection)
                for event in read_events_after(connection, last, BLOCK_MS):
                    last = event.id
                    self.deliver(event)
                is_silent = False
            except redis.RedisError as error:
                if not is_silent:
                    log.warning("doorbell is silent", error=str(error))
                is_silent = True
                time.sleep(RETRY_SECONDS)

    def deliver(self, event: BusEvent) -> None:
        with self.lock:
            listeners = list(self.tabs)
        for listener in listeners:
            try:
                listener.events.put_nowait(event)
            except queue.Full:
                listener.has_overflowed = True

    def read_missed(self, last_id: str) -> list[BusEvent]:
        """The events since `last_id`; empty if Redis does not answer or `last_id` is invalid."""
        try:
            return read_events_after(connect_redis(self.redis_url), last_id, None)
        except redis.RedisError:
            return []


def newest_event_id(connection: redis.Redis) -> str:
    entries: Any = connection.xrevrange(STREAM, count=1)
    return entries[0][0].decode() if entries else "0-0"


def read_events_after(connection: redis.Redis, last_id: str, block_ms: int | None) -> list[BusEvent]:
    answer: Any = connection.xread({STREAM: last_id}, count=MAX_MISSED_EVENTS, block=block_ms)
    entries = answer[0][1] if answer else []
    return [
        BusEvent(identity.decode(), fields[b"topic"].decode(), int(fields[b"id"]))
        for identity, fields in entries
    ]
