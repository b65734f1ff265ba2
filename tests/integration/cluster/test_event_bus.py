"""The stream of the event bus in a real Redis: both protocols, a restart that forgets everything, and trimmed ids."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
import redis

from cluster import event_bus
from cluster.event_bus import (
    RedisEventBus,
    connect_redis,
    follow_events,
    read_events_after,
    read_newest_event_id,
)
from tests.integration.conftest import redis_server


@pytest.fixture(params=[2, 3], ids=["RESP2", "RESP3"])
def connection(request: pytest.FixtureRequest, redis_url: str) -> Iterator[redis.Redis]:
    with closing(redis.Redis.from_url(redis_url, protocol=request.param, socket_timeout=15)) as connection:
        yield connection


def published(redis_url: str, *events: tuple[str, int]) -> None:
    with closing(connect_redis(redis_url)) as connection:
        RedisEventBus(connection).publish_all(*events)


def test_what_is_published_is_followed_in_its_order(connection: redis.Redis, redis_url: str) -> None:
    published(redis_url, ("jobs", 1))
    followed = follow_events(connection)
    assert next(followed).has_gap
    published(redis_url, ("jobs", 2), ("queue", 3))
    assert [(event.topic, event.row_id) for event in next(followed).events] == [("jobs", 2), ("queue", 3)]
    published(redis_url, ("nodes", 4))
    assert [(event.topic, event.row_id) for event in next(followed).events] == [("nodes", 4)]


def test_every_event_names_its_publisher(connection: redis.Redis) -> None:
    bus = RedisEventBus(connection)
    bus.publish("jobs", 1)
    (event,) = read_events_after(connection, event_bus.STREAM_START)
    assert event.origin == bus.origin and event.id == read_newest_event_id(connection)


def test_ids_that_the_stream_has_trimmed_are_passed_over(connection: redis.Redis, redis_url: str) -> None:
    published(redis_url, ("jobs", 1))
    first = read_newest_event_id(connection)
    published(redis_url, *(("jobs", number) for number in range(2, 6)))
    connection.xtrim(event_bus.STREAM, maxlen=2, approximate=False)
    assert [event.row_id for event in read_events_after(connection, first)] == [4, 5]
    connection.xtrim(event_bus.STREAM, maxlen=0, approximate=False)
    assert read_newest_event_id(connection) == event_bus.STREAM_START
    followed = follow_events(connection, after=first)
    published(redis_url, ("jobs", 6))
    assert [event.row_id for event in next(followed).events] == [6]


def test_a_redis_that_comes_back_without_its_stream_is_followed_from_its_start(
    ground: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its new ids are smaller than the old ones where its clock was set back: they are written by hand here."""
    monkeypatch.setattr(event_bus, "RETRY_SECONDS", 0.05)
    monkeypatch.setattr(event_bus, "BLOCK_SECONDS", 0.05)
    socket = ground / "run" / "redis.sock"
    with redis_server(socket) as url:
        connection = connect_redis(url)
        published(url, ("jobs", 1))
        followed = follow_events(connection, after=event_bus.STREAM_START)
        assert [event.row_id for event in next(followed).events] == [1]
    socket.unlink(missing_ok=True)
    with redis_server(socket) as url, closing(connection), closing(connect_redis(url)) as other:
        assert next(followed).has_gap
        other.xadd(event_bus.STREAM, {"topic": "jobs", "id": 2}, id="5-0")
        assert [event.row_id for event in next(followed).events] == [2]
