"""The scheduler is woken by rings and by ends, not by itself."""

import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager

import pytest

from cluster.event_bus import STREAM, RedisEventBus, connect_redis
from worker.executors.exit_watch import ExitWatch
from worker.inside.shim_process_tree import read_process
from worker.scheduling.loop import Wakeup

LONG = 20.0


@pytest.fixture
def bell(redis_url: str) -> Iterator[RedisEventBus]:
    with closing(connect_redis(redis_url)) as connection:
        yield RedisEventBus(connection)


@pytest.fixture
def ears(redis_url: str) -> Iterator[Wakeup]:
    """Their thread listens until the test run ends."""
    ears = Wakeup(connect_redis(redis_url), frozenset({"queue"}), ignored_origin="ourselves")
    ears.skip_to_newest()
    yield ears


@contextmanager
def soon(act: Callable[..., None], *words: object) -> Iterator[None]:
    """What happens meanwhile has happened by the end: a connection is not taken away from under it."""
    timer = threading.Timer(0.2, act, words)
    timer.start()
    yield
    timer.join()


def waited(ears: Wakeup, seconds: float, ends: tuple[int, ...] = ()) -> tuple[bool, float]:
    begun = time.monotonic()
    heard = ears.wait(seconds, ends)
    return heard, time.monotonic() - begun


def test_a_ring_ends_the_wait_at_once(ears: Wakeup, bell: RedisEventBus) -> None:
    with soon(bell.publish, "queue", 1):
        heard, seconds = waited(ears, LONG)
    assert heard and seconds < LONG / 2


def test_a_ring_between_two_waits_is_not_missed(ears: Wakeup, bell: RedisEventBus) -> None:
    ears.wait(0.0)
    bell.publish("queue", 1)
    heard, seconds = waited(ears, LONG)
    assert heard and seconds < LONG / 2


def test_a_ring_that_is_no_text_is_passed_over(ears: Wakeup, bell: RedisEventBus, redis_url: str) -> None:
    ears.wait(0.0)
    with closing(connect_redis(redis_url)) as connection:
        connection.xadd(STREAM, {b"topic": b"\xff\xfe", b"by": b"\xff"})
    bell.publish("queue", 1)
    heard, seconds = waited(ears, LONG)
    assert heard and seconds < LONG / 2


def test_other_topics_and_what_we_did_ourselves_wake_nobody(ears: Wakeup, bell: RedisEventBus) -> None:
    ears.wait(0.0)
    bell.publish("users", 1)
    bell.origin = "ourselves"
    bell.publish("queue", 1)
    assert waited(ears, 0.5)[0] is False


def test_the_end_of_a_process_ends_the_wait_at_once(ears: Wakeup) -> None:
    process = subprocess.Popen(["cat"], stdin=subprocess.PIPE)
    seen = read_process(process.pid)
    assert seen is not None and process.stdin is not None
    handle = {"boot_id": "any", "pid": process.pid, "start_ticks": seen.start_ticks}
    ends = ExitWatch()
    descriptors = tuple(ends.update([handle]))
    with soon(process.stdin.close):
        heard, seconds = waited(ears, LONG, descriptors)
    assert heard and seconds < LONG / 2
    process.wait()
    assert ends.update([]) == []


def test_an_end_before_anybody_followed_is_told_once() -> None:
    """Else a program of a few milliseconds would keep its units until the next look."""
    process = subprocess.Popen(["sleep", "600"])
    seen = read_process(process.pid)
    assert seen is not None
    handle = {"boot_id": "any", "pid": process.pid, "start_ticks": seen.start_ticks}
    process.kill()
    process.wait()
    ends = ExitWatch()
    told = []
    for _ in range(2):
        assert ends.update([handle]) == []
        told.append(ends.has_exit_before_watch)
    assert told == [True, False]


def test_a_process_that_got_the_number_of_another_is_not_followed() -> None:
    process = subprocess.Popen(["sleep", "600"])
    handle = {"boot_id": "any", "pid": process.pid, "start_ticks": 1}
    assert ExitWatch().update([handle]) == []
    process.kill()
    process.wait()


def test_a_dead_redis_costs_no_more_than_the_wait(ears: Wakeup) -> None:
    deaf = Wakeup(connect_redis("unix:///nonexistent/redis.sock"), frozenset({"queue"}))
    heard, seconds = waited(deaf, 0.3)
    assert not heard and seconds < LONG / 2
