"""A stream whose browser has gone gives its place back at once, and not with the beat that nobody takes."""

import itertools
import json
import queue
import socket
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from types import SimpleNamespace
from typing import Any

import pytest

from portal.live import event_stream
from portal.live.event_stream import TabStream, make_disconnect_check
from portal.live.stream_slots import StreamSlots

LAST_LOOK = 8
"""At which the portal would be stopped, and every stream ends anyway."""


def test_a_closed_end_is_seen_on_the_socket() -> None:
    ours, theirs = socket.socketpair()
    is_gone = make_disconnect_check({"gunicorn.socket": ours})
    with ours:
        assert not is_gone()
        theirs.close()
        assert is_gone()


def test_a_server_that_shows_no_socket_learns_it_by_its_beats() -> None:
    assert make_disconnect_check({}) is None


def test_the_place_of_a_tab_that_is_gone_is_free() -> None:
    ours, theirs = socket.socketpair()
    looks = itertools.count()
    places = StreamSlots(is_closing=lambda: next(looks) > LAST_LOOK)
    heard = a_stream({"gunicorn.socket": ours}).events(places)
    assert "retry" in next(heard) and "beat" in next(heard)
    assert places.used_by_person == {7: 1}
    theirs.close()
    with ours:
        assert list(heard) == []
    assert next(looks) < LAST_LOOK
    assert places.used_by_person.total() == 0


@pytest.mark.parametrize(("shows_socket", "seconds"), [(True, 30), (False, 5)])
def test_each_beat_announces_the_next(
    monkeypatch: pytest.MonkeyPatch, shows_socket: bool, seconds: int
) -> None:
    now = itertools.count(1000)
    monkeypatch.setattr(event_stream, "time", SimpleNamespace(monotonic=lambda: next(now)))
    monkeypatch.setattr(event_stream, "wait_for_events", lambda *_: [])
    ours, theirs = socket.socketpair()
    with ours, theirs:
        tab = a_stream({"gunicorn.socket": ours} if shows_socket else {})
        looks = itertools.count()
        heard = [*tab.events(StreamSlots(is_closing=lambda: next(looks) >= 61))]
    beats = [text for text in heard if "event: beat" in text]
    assert len(beats) == 1 + 60 // seconds
    assert {json.loads(text.partition("data: ")[2])["seconds"] for text in beats} == {seconds}


def a_stream(environ: dict[str, Any]) -> TabStream:
    """Of a living session, without topics."""
    about: Any = {
        "cluster": None,
        "actor": SimpleNamespace(user_id=7),
        "event_hub": SimpleNamespace(subscribe=a_silent_listener),
        "session_checks": SimpleNamespace(watch=lambda _: nullcontext(), is_live=lambda _: True),
        "file_watcher": None,
    }
    is_disconnected = make_disconnect_check(environ)
    return TabStream(**about, token="t", topics=frozenset(), job_ids=(), is_disconnected=is_disconnected)


@contextmanager
def a_silent_listener() -> Iterator[Any]:
    yield SimpleNamespace(has_overflowed=False, events=queue.Queue())
