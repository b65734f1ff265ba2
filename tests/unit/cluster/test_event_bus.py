"""The stream of the event bus: one parser for what Redis answers, and a reader that goes on after every failure."""

from itertools import islice
from typing import Any

import pytest
import redis

from cluster import event_bus
from cluster.event_bus import (
    STREAM_START,
    BusEvent,
    EventBatch,
    NullEventBus,
    RedisEventBus,
    event_order,
    follow_events,
    parse_event,
    position_to_resume,
    read_events_after,
    read_newest_event_id,
    stream_entries,
)

FIELDS = {b"topic": b"jobs", b"id": b"7", b"by": b"abc"}
ENTRY = (b"5-0", FIELDS)
EVENT = BusEvent("5-0", "jobs", 7, "abc")


@pytest.mark.parametrize(
    "reply",
    [
        [[b"ev", [ENTRY]]],
        {b"ev": [[ENTRY]]},
        {b"ev": [ENTRY]},
        [[b"ev", [(None, None), ENTRY]]],
    ],
    ids=["RESP2", "RESP3", "RESP3, one list", "a deleted entry"],
)
def test_the_entries_of_every_kind_of_reply_are_read(reply: Any) -> None:
    assert stream_entries(reply) == [ENTRY]


@pytest.mark.parametrize("reply", [None, [], {}, [[b"ev", []]], {b"ev": [[]]}])
def test_a_reply_without_entries_is_empty(reply: Any) -> None:
    assert stream_entries(reply) == []


@pytest.mark.parametrize(
    ("entry", "event"),
    [
        (ENTRY, EVENT),
        (("5-0", {"topic": "jobs", "id": "7", "by": "abc"}), EVENT),
        ((b"5-0", {b"topic": b"jobs", b"id": b"7"}), BusEvent("5-0", "jobs", 7, "")),
        ((b"5-0", {b"topic": b"\xff", b"id": b"7"}), BusEvent("5-0", "\N{REPLACEMENT CHARACTER}", 7, "")),
        ((b"5-0", {b"topic": b"jobs"}), None),
        ((b"5-0", {b"topic": b"jobs", b"id": b"seven"}), None),
        ((b"5-0", {b"id": b"7"}), None),
        ((b"5-0", {}), None),
        ((b"5-0", None), None),
    ],
)
def test_an_entry_that_the_event_bus_did_not_write_is_no_event(entry: Any, event: BusEvent | None) -> None:
    assert parse_event(entry) == event


def test_ids_are_ordered_by_number() -> None:
    assert sorted(["10-0", "9-12", "9-2"], key=event_order) == ["9-2", "9-12", "10-0"]


@pytest.mark.parametrize(
    ("position", "newest", "expected"),
    [
        (None, "5-0", "5-0"),
        ("5-0", "9-0", "5-0"),
        ("5-0", "5-0", "5-0"),
        ("5-0", STREAM_START, STREAM_START),
        ("10-0", "9-0", STREAM_START),
    ],
    ids=["the beginning", "missed some", "missed none", "an empty stream", "a clock that was set back"],
)
def test_reading_goes_on_where_it_was_unless_redis_has_lost_that(
    position: str | None, newest: str, expected: str
) -> None:
    assert position_to_resume(position, newest) == expected


class ScriptedRedis:
    """Answers as the test says; an error is raised. Remembers from where it was read."""

    def __init__(self, newest: list[Any], replies: list[Any]) -> None:
        self.newest, self.replies = newest, replies
        self.read_from: list[str] = []

    def xrevrange(self, stream: str, count: int) -> Any:
        return answer(self.newest)

    def xread(self, streams: dict[str, str], count: int, block: int | None) -> Any:
        self.read_from.append(streams[event_bus.STREAM])
        return answer(self.replies)


def answer(answers: list[Any]) -> Any:
    following = answers.pop(0)
    if isinstance(following, Exception):
        raise following
    return following


def followed(server: ScriptedRedis, count: int, after: str | None = None) -> list[EventBatch]:
    return list(islice(follow_events(server, after), count))  # type: ignore[arg-type]


def test_a_reader_begins_with_what_comes_now_and_says_that_it_knows_nothing_earlier() -> None:
    server = ScriptedRedis([[(b"4-0", FIELDS)]] * 2, [[], [[b"ev", [ENTRY]]]])
    assert followed(server, 2) == [EventBatch(has_gap=True), EventBatch((EVENT,))]
    assert server.read_from == ["4-0", "4-0"]


def test_a_reader_that_names_an_event_misses_none_and_goes_on_behind_what_it_read() -> None:
    strange = (b"6-0", {b"topic": b"jobs"})
    server = ScriptedRedis([], [{b"ev": [[ENTRY, strange]]}, {b"ev": [[(b"7-0", FIELDS)]]}])
    assert followed(server, 2, after="3-0") == [
        EventBatch((EVENT,)),
        EventBatch((BusEvent("7-0", "jobs", 7, "abc"),)),
    ]
    assert server.read_from == ["3-0", "6-0"]


@pytest.mark.parametrize(
    ("newest", "read_from"),
    [([(b"9-0", FIELDS)], ["5-0", "5-0"]), ([], ["5-0", STREAM_START])],
    ids=["it was away", "it has forgotten"],
)
def test_a_redis_that_was_away_is_followed_again_and_the_gap_is_named(
    monkeypatch: pytest.MonkeyPatch, newest: list[Any], read_from: list[str]
) -> None:
    pauses: list[float] = []
    monkeypatch.setattr(event_bus.time, "sleep", pauses.append)
    away = redis.ConnectionError("away")
    server = ScriptedRedis([away, newest], [away, [[b"ev", [ENTRY]]]])
    assert followed(server, 2, after="5-0") == [EventBatch(has_gap=True), EventBatch((EVENT,))]
    assert server.read_from == read_from
    assert pauses == [event_bus.RETRY_SECONDS] * 2


def test_a_stream_that_was_replaced_while_nothing_came_is_read_from_its_start() -> None:
    server = ScriptedRedis([[(b"2-0", FIELDS)]], [[], [[b"ev", [(b"2-0", FIELDS)]]]])
    assert followed(server, 2, after="5-0") == [
        EventBatch(has_gap=True),
        EventBatch((BusEvent("2-0", "jobs", 7, "abc"),)),
    ]
    assert server.read_from == ["5-0", STREAM_START]


def test_what_was_missed_is_read_at_once() -> None:
    server = ScriptedRedis([[(b"5-0", FIELDS)], []], [[[b"ev", [ENTRY]]]])
    assert read_events_after(server, "4-0") == (EVENT,)  # type: ignore[arg-type]
    assert read_newest_event_id(server) == "5-0"  # type: ignore[arg-type]
    assert read_newest_event_id(server) == STREAM_START  # type: ignore[arg-type]


def test_a_read_that_waits_is_shorter_than_the_connections_time_limit() -> None:
    limits = event_bus.connect_redis("unix:///nonexistent/redis.sock").connection_pool.connection_kwargs
    assert limits["socket_timeout"] > event_bus.BLOCK_SECONDS and limits["socket_connect_timeout"] == 2


def test_a_redis_that_is_away_fails_no_publisher() -> None:
    bus = RedisEventBus(redis.Redis.from_url("unix:///nonexistent/redis.sock"))
    bus.publish("jobs", 1)
    bus.enqueue("general", 1)
    assert NullEventBus().publish("jobs", 1) is None  # type: ignore[func-returns-value]


def test_a_published_change_is_one_entry_of_the_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    server = redis.Redis.from_url("unix:///nonexistent/redis.sock")
    sent: list[tuple[Any, ...]] = []

    def execute(pipe: Any, *_: object) -> None:
        sent.extend(words for words, _options in pipe.command_stack)

    monkeypatch.setattr(redis.client.Pipeline, "execute", execute)
    bus = RedisEventBus(server)
    bus.publish("jobs", 7)
    ((command, stream, *fields),) = sent
    assert (command, stream) == ("XADD", event_bus.STREAM)
    assert fields[-6:] == ["topic", "jobs", "id", 7, "by", bus.origin]


def test_an_operation_is_enqueued_by_its_id_without_the_queues_own_limits(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    enqueued: list[tuple[str, tuple[object, ...], dict[str, object]]] = []
    monkeypatch.setattr(
        event_bus.Queue,
        "enqueue",
        lambda queue, *words, **options: enqueued.append((queue.name, words, options)),
    )
    RedisEventBus(redis.Redis.from_url("unix:///nonexistent/redis.sock")).enqueue("general", 7)
    ((queue, words, options),) = enqueued
    assert (queue, words) == ("general", (event_bus.RUN_OPERATION, 7))
    assert (options["job_timeout"], options["result_ttl"]) == (-1, 0)
