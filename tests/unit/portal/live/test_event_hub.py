"""The bus is read by one thread, and each batch reaches the event loop with one event per row."""

import asyncio
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from cluster.event_bus import BusEvent, EventBatch, connect_redis
from portal.live import event_hub
from portal.live.event_hub import EventHub, newest_per_row, read_missed_events

NOWHERE = "unix:///nonexistent/redis.sock"


def event(number: int, row_id: int, topic: str = "jobs") -> BusEvent:
    return BusEvent(f"{number}-0", topic, row_id, "abc")


def test_batches_arrive_in_their_order_in_the_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    batches = [EventBatch(has_gap=True), EventBatch((event(1, 5), event(2, 5))), EventBatch((event(3, 6),))]

    def follow(connection: Any) -> Iterator[EventBatch]:
        yield from batches

    monkeypatch.setattr(event_hub, "follow_events", follow)
    delivered: list[Sequence[BusEvent]] = []

    async def listen() -> None:
        is_whole = asyncio.Event()

        def deliver(events: Sequence[BusEvent]) -> None:
            delivered.append(events)
            if len(delivered) == 2:
                is_whole.set()

        hub = EventHub(NOWHERE, deliver)
        hub.start()
        async with asyncio.timeout(20):
            await hub.is_reading.wait()
            await is_whole.wait()

    asyncio.run(listen())
    assert delivered == [[event(2, 5)], [event(3, 6)]]


def test_of_a_row_that_was_published_often_the_last_event_counts() -> None:
    events = [event(10, 1), event(9, 1), event(2, 1, "queue"), event(11, 3), event(12, 1)]
    assert newest_per_row(events) == [event(2, 1, "queue"), event(11, 3), event(12, 1)]


def test_without_redis_nothing_was_missed() -> None:
    assert list(read_missed_events(connect_redis(NOWHERE), "5-0")) == []
