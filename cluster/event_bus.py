"""The event bus: after a commit, Redis carries the ids of changed rows; without Redis everything only takes longer.

One Redis stream has one writer and one reader, both here.
"""

import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import redis
import structlog
from rq import Queue
from rq.serializers import JSONSerializer

from cluster.failpoints import external_call

log = structlog.get_logger()

STREAM = "ev"
STREAM_LENGTH = 10_000
STREAM_START = "0-0"
RUN_OPERATION = "worker.tasks.run.run_operation"
BLOCK_SECONDS = 5.0
"""The seconds that one read of the stream waits. It is shorter than the connection's own time limit, so that silence
is no error.
"""
RETRY_SECONDS = 1.0
MAX_EVENTS_PER_READ = 1_000


class EventBus(Protocol):
    """Publishes after a commit; an event bus that does not answer never fails the caller."""

    def publish(self, topic: str, row_id: int) -> None: ...

    def publish_all(self, *events: tuple[str, int]) -> None: ...

    def enqueue(self, queue: str, operation_id: int) -> None: ...


class RedisEventBus:
    """Topics go to one Redis stream for pages and the scheduler, operations to RQ's queues."""

    def __init__(self, connection: redis.Redis) -> None:
        self.connection = connection
        self.origin = uuid.uuid4().hex[:12]
        """The name on every event of this process, so that nobody is woken by their own event."""

    def publish(self, topic: str, row_id: int) -> None:
        self.publish_all((topic, row_id))

    def publish_all(self, *events: tuple[str, int]) -> None:
        """Sends all of them in one round trip, in this order."""
        with external_call("event_bus.publish"):
            try:
                pipe = self.connection.pipeline(transaction=False)
                for topic, row_id in events:
                    entry: dict[Any, Any] = {"topic": topic, "id": row_id, "by": self.origin}
                    pipe.xadd(STREAM, entry, maxlen=STREAM_LENGTH, approximate=True)
                pipe.execute()
            except redis.RedisError as error:
                log.warning("the event bus does not answer", events=events, error=str(error))

    def enqueue(self, queue: str, operation_id: int) -> None:
        """RQ's own time limits, retries and results are off: the operation's row holds all of that."""
        with external_call("event_bus.enqueue"):
            try:
                Queue(queue, connection=self.connection, serializer=JSONSerializer).enqueue(
                    RUN_OPERATION, operation_id, job_timeout=-1, result_ttl=0, failure_ttl=60
                )
            except redis.RedisError as error:
                log.warning("the event bus does not answer", queue=queue, row=operation_id, error=str(error))


class NullEventBus:
    """An event bus that publishes nothing, for installations and tests without Redis: the scheduler finds every change
    in the rows.
    """

    def publish(self, topic: str, row_id: int) -> None:
        pass

    def publish_all(self, *events: tuple[str, int]) -> None:
        pass

    def enqueue(self, queue: str, operation_id: int) -> None:
        pass


def connect_redis(redis_url: str) -> redis.Redis:
    """A connection that gives up in 2 s, so that a page never waits long for a Redis that does not answer."""
    return redis.Redis.from_url(redis_url, socket_connect_timeout=2, socket_timeout=15)


@dataclass(frozen=True)
class BusEvent:
    """`id` is Redis' own and grows: a browser that reconnects names the last one it received."""

    id: str
    topic: str
    row_id: int
    origin: str
    """The name of the process that published it, see `RedisEventBus.origin`."""


@dataclass(frozen=True)
class EventBatch:
    """The result of one read of the stream."""

    events: tuple[BusEvent, ...] = ()
    has_gap: bool = False
    """Events may have been lost before this batch, because the reader began or Redis was away."""


def follow_events(connection: redis.Redis, after: str | None = None) -> Iterator[EventBatch]:
    """Yields what is published after the event `after`, or from now on, and never ends.

    While Redis is away it retries every second; then it continues after the last event that it read, or from the
    beginning of a stream that has lost that event. Ids that the stream has trimmed are skipped.
    """
    position, is_connected, is_silent = after, after is not None, False
    while True:
        try:
            if not is_connected:
                position = position_to_resume(position, read_newest_event_id(connection))
                is_connected = True
                yield EventBatch(has_gap=True)
            position, events = read_stream(connection, position or STREAM_START, int(BLOCK_SECONDS * 1000))
            is_silent = False
            if events:
                yield EventBatch(events)
                continue
            # A connection reconnects by itself without notice, so the stream may be another one by now.
            resumed = position_to_resume(position, read_newest_event_id(connection))
            if resumed != position:
                position = resumed
                yield EventBatch(has_gap=True)
        except redis.RedisError as error:
            if not is_silent:
                log.warning("the event bus does not answer", error=str(error))
            is_connected, is_silent = False, True
            time.sleep(RETRY_SECONDS)


def position_to_resume(position: str | None, newest: str) -> str:
    """The id from which reading continues: `position`, or `newest` without one. It is the start of the stream if Redis
    has lost the stream in which `position` was.
    """
    if position is None:
        return newest
    return STREAM_START if event_order(newest) < event_order(position) else position


def event_order(event_id: str) -> tuple[int, ...]:
    """Returns the numbers of an id of Redis, `<milliseconds>-<number>`."""
    return tuple(int(part) for part in event_id.split("-"))


def read_events_after(connection: redis.Redis, event_id: str) -> tuple[BusEvent, ...]:
    """Reads the events that are in the stream now, at most MAX_EVENTS_PER_READ. Raises RedisError, also for a text that
    is no id.
    """
    return read_stream(connection, event_id, None)[1]


def read_newest_event_id(connection: redis.Redis) -> str:
    """Raises RedisError."""
    entries: Any = connection.xrevrange(STREAM, count=1)
    return decode_text(entries[0][0]) if entries else STREAM_START


def read_stream(
    connection: redis.Redis, position: str, block_ms: int | None
) -> tuple[str, tuple[BusEvent, ...]]:
    """The new position and the events up to it; waits at most `block_ms` for the first. Raises RedisError."""
    reply: Any = connection.xread({STREAM: position}, count=MAX_EVENTS_PER_READ, block=block_ms)
    entries = stream_entries(reply)
    events = tuple(event for entry in entries if (event := parse_event(entry)) is not None)
    return (decode_text(entries[-1][0]) if entries else position), events


def stream_entries(reply: Any) -> list[tuple[Any, Any]]:
    """The (id, fields) of an XREAD of one stream: RESP2 answers [[stream, entries]], RESP3 {stream: [entries]}.

    Entries that were deleted meanwhile have neither and are left out.
    """
    if not reply:
        return []
    found = next(iter(reply.values())) if isinstance(reply, dict) else reply[0][1]
    if found and isinstance(found[0], list):
        found = found[0]
    return [entry for entry in found if entry[0] is not None]


def parse_event(entry: tuple[Any, Any]) -> BusEvent | None:
    """Returns None for an entry that `RedisEventBus` did not write."""
    fields = {decode_text(name): decode_text(value) for name, value in (entry[1] or {}).items()}
    try:
        return BusEvent(decode_text(entry[0]), fields["topic"], int(fields["id"]), fields.get("by", ""))
    except (KeyError, ValueError):
        return None


def decode_text(value: bytes | str) -> str:
    return value.decode(errors="replace") if isinstance(value, bytes) else value
