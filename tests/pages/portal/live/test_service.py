"""The service of streams answers whom it may, refuses all others, and gets every place back."""

import asyncio
import json
from collections.abc import MutableMapping
from typing import Any

import pytest
from sqlalchemy.exc import OperationalError
from structlog.testing import capture_logs

from cluster.services.context import Cluster
from portal.live import client_limits
from portal.live.stream_slots import MAX_STREAMS, MAX_STREAMS_PER_PERSON
from portal.response_headers import SECURITY_HEADERS
from tests.builders import a_user
from tests.pages.portal.live_browser import LiveAnswer, LiveBrowser


@pytest.fixture
def browser(light_cluster: Cluster) -> LiveBrowser:
    return LiveBrowser(light_cluster, a_user(light_cluster))


def fill(browser: LiveBrowser, streams: int, person: int = -1) -> None:
    """So many streams of other people, as many each as one may have."""
    for number in range(streams):
        browser.service.slots.used_by_person[person - number // MAX_STREAMS_PER_PERSON] += 1


def user_id_of(browser: LiveBrowser) -> int:
    rights = asyncio.run(browser.service.rights.read(browser.token, []))
    assert rights.person
    return rights.person.user_id


def test_a_head_takes_no_place(browser: LiveBrowser) -> None:
    statuses = {
        browser.get("/stream?topics=jobs", "HEAD").status_code for _ in range(MAX_STREAMS_PER_PERSON + 3)
    }
    assert statuses == {200}
    assert browser.service.slots.used_by_person == {}


REFUSALS = [
    ("/stream?topics=secrets", 422, "secrets"),
    ("/stream?topics=" + "jobs," * 21, 422, ""),
    ("/stream?topics=job:99", 404, ""),
    ("/stream?topics=job:99999999999", 404, ""),
    ("/jobs/99/log", 404, ""),
    ("/jobs/9999999999/log", 404, ""),
    ("/", 404, ""),
]


@pytest.mark.parametrize(("path", "status", "words"), REFUSALS)
def test_what_is_not_there_for_a_person_is_refused_and_takes_no_place(
    browser: LiveBrowser, path: str, status: int, words: str
) -> None:
    answer = browser.get(path)
    assert answer.status_code == status and words in answer.text
    assert browser.service.slots.used_by_person == {} and not browser.service.tabs.tabs


@pytest.mark.parametrize("path", ["/stream?topics=jobs", "/jobs/1/log"])
def test_without_a_living_session_nobody_is_answered(browser: LiveBrowser, path: str) -> None:
    for cookie in ("", "gc_session_1=x", browser.cookie + "x"):
        answer = browser.get(path, headers={"Cookie": cookie})
        assert (answer.status_code, answer.data) == (401, b"")


def test_a_health_check_needs_no_session_and_asks_the_database(
    browser: LiveBrowser, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer = browser.get("/health", headers={"Cookie": ""})
    assert (answer.status_code, answer.text) == (200, '{"status": "ok"}\n')

    async def is_away(token: str, job_ids: object) -> None:
        raise OperationalError("SELECT", {}, Exception("away"))

    monkeypatch.setattr(browser.service.rights, "read", is_away)
    assert browser.get("/health").status_code == 503


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS"])
def test_nothing_can_be_written_here(browser: LiveBrowser, method: str) -> None:
    answer = browser.get("/stream?topics=jobs", method)
    assert (answer.status_code, answer.headers["Allow"]) == (405, "GET, HEAD")


def test_every_answer_has_the_headers_of_the_portal(browser: LiveBrowser) -> None:
    for path in ("/stream?topics=jobs", "/jobs/99/log"):
        headers = browser.get(path, "HEAD", {"X-Request-Id": "given-by-a-proxy"}).headers
        assert headers.items() >= {name.title(): value for name, value in SECURITY_HEADERS.items()}.items()
        assert (headers["Cache-Control"], headers["X-Request-Id"]) == ("no-store", "given-by-a-proxy")
        assert "Strict-Transport-Security" not in headers
    by_https = browser.get("/jobs/99/log", headers={"X-Forwarded-Proto": "https"})
    assert "Strict-Transport-Security" in by_https.headers


def test_a_person_with_all_places_is_refused_in_words_and_for_a_while_without_a_question(
    browser: LiveBrowser, monkeypatch: pytest.MonkeyPatch
) -> None:
    browser.service.slots.used_by_person[user_id_of(browser)] = MAX_STREAMS_PER_PERSON
    refused = browser.get("/stream?topics=jobs")
    assert (refused.status_code, refused.headers["Retry-After"]) == (429, "30")
    assert refused.text.startswith(f"You have {MAX_STREAMS_PER_PERSON} live pages open")
    monkeypatch.setattr(browser.service.rights, "read", None)
    assert browser.get("/stream?topics=jobs").status_code == 429


def test_places_of_all_together_have_an_end(browser: LiveBrowser) -> None:
    fill(browser, MAX_STREAMS)
    refused = browser.get("/stream?topics=jobs")
    assert (refused.status_code, refused.headers["Retry-After"]) == (503, "30")
    assert "All places for live pages are taken" in refused.text


def test_a_database_that_is_away_is_told_and_asked_again_later(
    browser: LiveBrowser, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(*_: object) -> None:
        raise OperationalError("SELECT", {}, Exception("away"))

    monkeypatch.setattr(browser.service.rights, "read", fail)
    answer = browser.get("/stream?topics=jobs")
    assert (answer.status_code, answer.headers["Retry-After"]) == (503, "30")


def test_a_bug_is_one_persons_500_and_has_its_line(
    browser: LiveBrowser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(browser.service.rights, "read", None)
    with capture_logs() as lines:
        answer = browser.get("/stream?topics=jobs")
    assert answer.status_code == 500
    assert [line["event"] for line in lines] == ["bug", "request"]


def test_a_stream_that_breaks_or_whose_browser_has_gone_gives_its_place_back(browser: LiveBrowser) -> None:
    class Broken(LiveAnswer):
        async def take(self, message: MutableMapping[str, Any]) -> None:
            assert browser.service.slots.used_by_person.total() == 1
            assert len(browser.service.tabs.tabs) == 1
            raise RuntimeError("between the service and the server")

    async def leave() -> MutableMapping[str, Any]:
        return {"type": "http.disconnect"}

    async def run(answer: LiveAnswer, receive: Any) -> None:
        scope = {"type": "http", "method": "GET", "path": "/stream", "query_string": b"topics=jobs"}
        headers = [(b"cookie", browser.cookie.encode())]
        async with asyncio.timeout(20):
            await browser.service({**scope, "headers": headers}, receive, answer.take)

    asyncio.run(run(Broken(), leave))
    assert browser.service.slots.used_by_person == {} and not browser.service.tabs.tabs
    left = LiveAnswer()
    asyncio.run(run(left, leave))
    assert left.status_code == 200 and left.text.startswith("retry: 2000\n\n")
    assert browser.service.slots.used_by_person == {} and not browser.service.tabs.tabs


def test_pieces_of_one_session_wait_for_each_other_and_too_many_are_refused(
    browser: LiveBrowser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client_limits, "MAX_OPEN_REQUESTS", 3)
    in_work: list[int] = []

    async def ask_all() -> list[int]:
        released = asyncio.Event()

        async def read(*_: object) -> None:
            in_work.append(1)
            await released.wait()
            raise OperationalError("SELECT", {}, Exception("away"))

        monkeypatch.setattr(browser.service.rights, "read", read)
        asked = [asyncio.create_task(browser.ask("/jobs/1/log")) for _ in range(4)]
        while not asked[3].done():
            await asyncio.sleep(0)
        assert len(in_work) == client_limits.CONCURRENT_REQUESTS
        released.set()
        return [(await each).status_code for each in asked]

    assert asyncio.run(ask_all()) == [503, 503, 503, 429]
    assert browser.service.limits.open_by_token == {}


def test_the_line_of_a_request_names_who_asked_and_no_secret(browser: LiveBrowser) -> None:
    with capture_logs() as lines:
        browser.get("/stream?topics=jobs", "HEAD", {"X-Forwarded-For": "203.0.113.9, 192.0.2.7"})
    (line,) = lines
    assert (line["route"], line["address"], line["status"]) == ("/stream", "192.0.2.7", 200)
    assert browser.token not in json.dumps(line)


def test_a_refused_piece_has_its_line(browser: LiveBrowser) -> None:
    with capture_logs() as lines:
        browser.get("/jobs/99/log")
    (line,) = lines
    assert (line["route"], line["status"], line["job_id"]) == ("/jobs/<int:job_id>/log", 404, 99)
