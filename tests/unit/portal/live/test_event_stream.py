"""What one tab is sent: only the newest of each row and each file, at an even pace, and an end in order."""

import asyncio
import json
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

import pytest

from cluster.event_bus import BusEvent
from cluster.services.jobs.queries import JobAttempt
from cluster.services.people.sessions import SignedInPerson
from portal.live import event_stream
from portal.live.event_stream import MAX_PENDING_ROWS, StreamEnd, Tab, WatchedJob
from portal.live.file_watcher import FileSizes

PERSON = SignedInPerson(7, "seoyeon", False, None)


def a_tab(*topics: str, jobs: tuple[int, ...] = ()) -> Tab:
    return Tab(PERSON, "a token", frozenset(topics), {job_id: WatchedJob() for job_id in jobs})


def event(number: int, row_id: int, topic: str = "jobs") -> BusEvent:
    return BusEvent(f"{number}-0", topic, row_id, "abc")


def events_of(text: str) -> list[tuple[str, Any]]:
    found = []
    for block in text.split("\n\n"):
        fields = dict(line.split(": ", 1) for line in block.splitlines())
        if "event" in fields:
            found.append((fields["event"], json.loads(fields["data"])))
    return found


def test_a_row_that_changed_often_is_sent_once_with_its_last_id() -> None:
    tab = a_tab("jobs", "queue")
    tab.add_events([event(1, 5), event(2, 6), event(3, 7, "nodes")])
    tab.add_events([event(4, 5), event(5, 0, "queue")])
    text = tab.take_text()
    assert events_of(text) == [("jobs", {"id": 6}), ("jobs", {"id": 5}), ("queue", {"id": 0})]
    assert text.startswith("id: 2-0\n") and "id: 4-0\n" in text and "3-0" not in text
    assert tab.take_text() == ""


def test_files_that_grew_are_told_by_their_newest_sizes_and_once() -> None:
    tab = a_tab(jobs=(3,))
    tab.follow_attempt(JobAttempt(3, 1, 2))
    for size in (10, 20):
        tab.note_sizes(3, FileSizes({"rank-0.stdout": size}, None))
    about = {"job": 3, "attempt": 2}
    assert events_of(tab.take_text()) == [("log", {**about, "sizes": {"rank-0.stdout": 20}})]
    tab.note_sizes(3, FileSizes({"rank-0.stdout": 20}, 5))
    assert events_of(tab.take_text()) == [("metrics", {**about, "size": 5})]
    tab.note_sizes(3, FileSizes({"rank-0.stdout": 20}, 5))
    assert tab.take_text() == ""


def test_a_tab_that_takes_nothing_has_to_come_back_and_keeps_no_more() -> None:
    tab = a_tab("jobs")
    tab.add_events(event(number, number) for number in range(1, MAX_PENDING_ROWS + 1))
    assert tab.end is None
    tab.add_events([event(MAX_PENDING_ROWS + 1, MAX_PENDING_ROWS + 1)])
    assert tab.end is StreamEnd.SLOW
    tab.add_events(event(9000 + number, 9000 + number) for number in range(100))
    assert len(tab.rows) == MAX_PENDING_ROWS + 1


Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]


class Browser:
    """Takes what is sent, and ends the stream once it has taken so many messages."""

    def __init__(self, tab: Tab, messages: int, end: StreamEnd = StreamEnd.SERVICE) -> None:
        self.tab, self.left, self.why = tab, messages, end
        self.sent: list[MutableMapping[str, Any]] = []

    async def take(self, message: MutableMapping[str, Any]) -> None:
        self.sent.append(message)
        self.left -= 1
        if self.left == 0:
            self.tab.finish(self.why)

    @property
    def text(self) -> str:
        return "".join(message["body"].decode() for message in self.sent)

    @property
    def is_whole(self) -> bool:
        return not self.sent[-1].get("more_body", False)


def run(browser: Browser) -> None:
    async def listen() -> None:
        async with asyncio.timeout(20):
            await browser.tab.send_events(browser.take)

    asyncio.run(listen())


def test_beats_come_by_themselves_and_each_announces_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_stream, "BEAT_SECONDS", 0.01)
    monkeypatch.setattr(event_stream, "PAUSE_SECONDS", 0)
    browser = Browser(a_tab("jobs"), messages=4)
    run(browser)
    assert browser.text.startswith("retry: 2000\n\n")
    assert events_of(browser.text) == [("beat", {"seconds": 0.01})] * 3
    assert browser.is_whole


@pytest.mark.parametrize(
    ("why", "last", "is_whole"),
    [
        (StreamEnd.SESSION, ("end", {}), True),
        (StreamEnd.SERVICE, ("beat", {"seconds": 30}), True),
        (StreamEnd.SLOW, ("beat", {"seconds": 30}), True),
        (StreamEnd.TAB, ("beat", {"seconds": 30}), False),
    ],
)
def test_a_stream_ends_in_order_and_says_so_only_if_the_session_is_over(
    why: StreamEnd, last: tuple[str, Any], is_whole: bool
) -> None:
    browser = Browser(a_tab(), messages=2, end=why)
    run(browser)
    assert events_of(browser.text)[-1] == last
    assert browser.is_whole == is_whole


def test_what_happens_while_a_tab_is_slow_waits_as_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its sending waits; meanwhile a row and a file change a hundred times."""
    monkeypatch.setattr(event_stream, "PAUSE_SECONDS", 0)
    tab = a_tab("jobs", jobs=(3,))
    tab.follow_attempt(JobAttempt(3, 1, 1))
    browser = Browser(tab, messages=3)
    is_taken = asyncio.Event()

    async def take_slowly(message: MutableMapping[str, Any]) -> None:
        await browser.take(message)
        if b"beat" in message["body"]:
            await is_taken.wait()

    async def listen() -> None:
        sending = asyncio.create_task(tab.send_events(take_slowly))
        while len(browser.sent) < 2:
            await asyncio.sleep(0)
        for number in range(1, 101):
            tab.add_events([event(number, 5)])
            tab.note_sizes(3, FileSizes({"rank-0.stdout": number}))
        is_taken.set()
        async with asyncio.timeout(20):
            await sending

    asyncio.run(listen())
    assert events_of(browser.text)[1:] == [
        ("jobs", {"id": 5}),
        ("log", {"job": 3, "attempt": 1, "sizes": {"rank-0.stdout": 100}}),
    ]
