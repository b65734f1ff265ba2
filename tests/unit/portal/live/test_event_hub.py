"""Every open tab gets every event; one that does not empty its queue is told to come back."""

import threading
from collections.abc import Iterator
from typing import Any

import pytest

from cluster.event_bus import BusEvent, EventBatch
from portal.live import event_hub
from portal.live.event_hub import QUEUE_LENGTH, EventHub, TabQueue


def events(count: int) -> tuple[BusEvent, ...]:
    return tuple(BusEvent(f"{number}-0", "jobs", number, "abc") for number in range(1, count + 1))


@pytest.fixture
def published(monkeypatch: pytest.MonkeyPatch) -> list[EventBatch]:
    """What the reader reads, and then no more."""
    batches: list[EventBatch] = []

    def follow(connection: Any) -> Iterator[EventBatch]:
        yield from batches

    monkeypatch.setattr(event_hub, "follow_events", follow)
    return batches


def emptied(tab: TabQueue) -> list[BusEvent]:
    return [tab.events.get_nowait() for _ in range(tab.events.qsize())]


def test_each_tab_gets_each_event_in_its_order(published: list[EventBatch]) -> None:
    one, two, three = events(3)
    published += [EventBatch(has_gap=True), EventBatch((one, two)), EventBatch((three,))]
    hub = EventHub("unix:///nonexistent/redis.sock")
    hub.reader = threading.current_thread()  # Read below, not by a thread of its own.
    with hub.subscribe() as first, hub.subscribe() as second:
        hub.read_forever()
        assert emptied(first) == emptied(second) == [one, two, three]
    hub.deliver(one)
    assert emptied(first) == [], "it has left"


def test_the_first_tab_begins_the_reading_and_the_next_one_does_not(published: list[EventBatch]) -> None:
    published.append(EventBatch(events(1)))
    hub = EventHub("unix:///nonexistent/redis.sock")
    with hub.subscribe() as first:
        assert first.events.get(timeout=20) == events(1)[0]
        reader = hub.reader
        assert reader is not None
        with hub.subscribe():
            assert hub.reader is reader
        reader.join(20)


def test_a_tab_that_is_not_emptied_is_marked_and_holds_up_nobody(published: list[EventBatch]) -> None:
    published.append(EventBatch(events(QUEUE_LENGTH)))
    hub = EventHub("unix:///nonexistent/redis.sock")
    hub.reader = threading.current_thread()
    with hub.subscribe() as slow, hub.subscribe() as quick:
        hub.read_forever()
        emptied(quick)
        hub.deliver(events(1)[0])
        assert (slow.has_overflowed, quick.has_overflowed) == (True, False)
        assert emptied(quick) == [events(1)[0]]


def test_without_redis_nothing_was_missed() -> None:
    assert list(EventHub("unix:///nonexistent/redis.sock").read_missed("5-0")) == []
