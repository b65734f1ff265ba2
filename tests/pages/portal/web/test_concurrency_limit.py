"""Requests of one session wait for each other, and nobody else waits for them."""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from werkzeug.exceptions import TooManyRequests

from cluster.services.context import Cluster
from cluster.services.people import sessions
from portal import create_app
from portal.job_files.metrics.export_slots import EXPORT_SLOTS
from portal.shared_objects import shared_object
from portal.web import concurrency_limit
from portal.web.concurrency_limit import CONCURRENT_REQUESTS, MAX_OPEN_REQUESTS, THREADS, ConcurrencyLimiter
from tests.builders import a_user

GREEDY, OTHER = b"greedy", b"other"


@pytest.fixture
def share() -> ConcurrencyLimiter:
    return ConcurrencyLimiter()


@pytest.fixture
def pool() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(MAX_OPEN_REQUESTS) as pool:
        yield pool


def test_neither_a_client_nor_all_exports_take_the_threads_of_a_process() -> None:
    assert CONCURRENT_REQUESTS < MAX_OPEN_REQUESTS <= THREADS // 4
    assert EXPORT_SLOTS <= THREADS // 2


def test_one_more_than_may_be_in_work_waits_until_one_has_ended(
    share: ConcurrencyLimiter, pool: ThreadPoolExecutor
) -> None:
    for _ in range(CONCURRENT_REQUESTS):
        share.acquire(GREEDY)
    begun = threading.Event()
    waiting = pool.submit(lambda: (begun.set(), share.acquire(GREEDY)))
    assert begun.wait(10)
    share.acquire(OTHER)
    assert not waiting.done()
    share.release(GREEDY)
    waiting.result(10)
    for _ in range(CONCURRENT_REQUESTS):
        share.release(GREEDY)
    share.release(OTHER)
    assert share.slots_by_client == {}


def test_more_than_may_wait_are_refused_at_once_and_others_are_not(
    share: ConcurrencyLimiter, pool: ThreadPoolExecutor
) -> None:
    for _ in range(CONCURRENT_REQUESTS):
        share.acquire(GREEDY)
    asked = [pool.submit(share.acquire, GREEDY) for _ in range(MAX_OPEN_REQUESTS - CONCURRENT_REQUESTS)]
    share_is_full = pool.submit(lambda: fill(share))
    assert share_is_full.result(10)
    with pytest.raises(TooManyRequests):
        share.acquire(GREEDY)
    share.acquire(OTHER)
    share.release(OTHER)
    for _ in range(MAX_OPEN_REQUESTS):
        share.release(GREEDY)
    for each in asked:
        each.result(10)
    assert share.slots_by_client == {}


def fill(share: ConcurrencyLimiter) -> bool:
    """Once all of them have asked."""
    while share.slots_by_client[GREEDY].open_requests < MAX_OPEN_REQUESTS:
        threading.Event().wait(0.001)
    return True


def test_who_waits_too_long_is_refused_and_leaves_nothing(
    share: ConcurrencyLimiter, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(concurrency_limit, "WAIT_SECONDS", 0.0)
    for _ in range(CONCURRENT_REQUESTS):
        share.acquire(GREEDY)
    with pytest.raises(TooManyRequests):
        share.acquire(GREEDY)
    for _ in range(CONCURRENT_REQUESTS):
        share.release(GREEDY)
    assert share.slots_by_client == {}


def test_every_request_gives_its_place_back_and_a_refusal_names_the_way_out(
    light_cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = create_app(light_cluster)
    client = app.test_client()
    token = sessions.begin_session(light_cluster, a_user(light_cluster).id, "192.0.2.1", "a test")
    client.set_cookie(f"gc_session_{light_cluster.settings.port}", token)
    for path in ("/", "/no-such-page", "/jobs/999"):
        client.get(path)
    assert shared_object(ConcurrencyLimiter, app).slots_by_client == {}
    monkeypatch.setattr(concurrency_limit, "MAX_OPEN_REQUESTS", 0)
    for path, kind in (("/", "text/html"), ("/api/v1/jobs", "application/problem+json")):
        refused = client.get(path, headers={"Authorization": "Bearer gc_x"})
        assert (refused.status_code, refused.mimetype) == (429, kind)
        assert "Too many requests. Wait a moment and try again." in refused.text
        assert refused.headers["Retry-After"] == "5"
