"""Follows the event bus in one thread and delivers every event to the open tabs that show such rows."""

import asyncio
import threading
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress

import redis

from cluster.event_bus import (
    BusEvent,
    EventBatch,
    connect_redis,
    event_order,
    follow_events,
    read_events_after,
)


class EventHub:
    """Hands events of Redis to open streams. Without Redis these still send heartbeats and file sizes."""

    def __init__(self, redis_url: str, deliver: Callable[[Sequence[BusEvent]], None]) -> None:
        """`deliver` gets each batch in the event loop: one event per row, in their order."""
        self.redis_url = redis_url
        self.deliver = deliver
        self.is_reading = asyncio.Event()
        """Set once the bus has answered: events that are published from then on are delivered."""

    def start(self) -> None:
        """Starts the thread. It is called in the event loop."""
        loop = asyncio.get_running_loop()
        # The thread is a daemon, because it waits for Redis, which may never answer.
        threading.Thread(target=self.read_forever, args=(loop,), name="event-hub", daemon=True).start()

    def read_forever(self, loop: asyncio.AbstractEventLoop) -> None:
        for batch in follow_events(connect_redis(self.redis_url)):
            with suppress(RuntimeError):  # The loop has been closed: the process ends.
                loop.call_soon_threadsafe(self.take_batch, batch)

    def take_batch(self, batch: EventBatch) -> None:
        self.is_reading.set()
        if batch.events:
            self.deliver(newest_per_row(batch.events))


def newest_per_row(events: Iterable[BusEvent]) -> Sequence[BusEvent]:
    """One event per row, however often it was published; the last id counts."""
    newest = {(event.topic, event.row_id): event for event in events}
    return sorted(newest.values(), key=lambda event: event_order(event.id))


def read_missed_events(connection: redis.Redis, last_id: str) -> Sequence[BusEvent]:
    """The events since `last_id`; empty if Redis does not answer or `last_id` is invalid."""
    try:
        return newest_per_row(read_events_after(connection, last_id))
    except redis.RedisError:
        return ()
