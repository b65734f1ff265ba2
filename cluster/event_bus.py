"""The event bus: after a commit, Redis carries the ids of changed rows; without Redis everything only takes longer."""

import uuid
from typing import Any, Protocol

import redis
import structlog
from rq import Queue
from rq.serializers import JSONSerializer

from cluster.failpoints import external_call

log = structlog.get_logger()

STREAM = "ev"
STREAM_LENGTH = 10_000
RUN_OPERATION = "worker.tasks.run.run_operation"


class EventBus(Protocol):
    """Rings after commit; a bell that cannot ring never fails the caller."""

    def publish(self, topic: str, row_id: int) -> None: ...

    def publish_all(self, *rings: tuple[str, int]) -> None: ...

    def enqueue(self, queue: str, operation_id: int) -> None: ...


class RedisEventBus:
    """Topics go to one Redis stream for pages and the scheduler, operations to RQ's queues."""

    def __init__(self, connection: redis.Redis) -> None:
        self.connection = connection
        self.origin = uuid.uuid4().hex[:12]
        """Stands on every ring, so that nobody is woken by what they did themselves."""

    def publish(self, topic: str, row_id: int) -> None:
        self.publish_all((topic, row_id))

    def publish_all(self, *rings: tuple[str, int]) -> None:
        """Sent and answered together, in this order."""
        with external_call("event_bus.publish"):
            try:
                pipe = self.connection.pipeline(transaction=False)
                for topic, row_id in rings:
                    entry: dict[Any, Any] = {"topic": topic, "id": row_id, "by": self.origin}
                    pipe.xadd(STREAM, entry, maxlen=STREAM_LENGTH, approximate=True)
                pipe.execute()
            except redis.RedisError as error:
                log.warning("bell is silent", rings=rings, error=str(error))

    def enqueue(self, queue: str, operation_id: int) -> None:
        """RQ's own time limits, retries and results are off: the operation's row holds all of that."""
        with external_call("event_bus.enqueue"):
            try:
                Queue(queue, connection=self.connection, serializer=JSONSerializer).enqueue(
                    RUN_OPERATION, operation_id, job_timeout=-1, result_ttl=0, failure_ttl=60
                )
            except redis.RedisError as error:
                log.warning("bell is silent", queue=queue, row=operation_id, error=str(error))


class NullEventBus:
    """For installations and tests without Redis: rows are found by the sweep alone."""

    def publish(self, topic: str, row_id: int) -> None:
        pass

    def publish_all(self, *rings: tuple[str, int]) -> None:
        pass

    def enqueue(self, queue: str, operation_id: int) -> None:
        pass


def connect_redis(redis_url: str) -> redis.Redis:
    """A connection that gives up in 2 s, so that a dead Redis never holds a page."""
    return redis.Redis.from_url(redis_url, socket_connect_timeout=2, socket_timeout=15)
