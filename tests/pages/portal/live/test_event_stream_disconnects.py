"""A stream whose browser has gone gives its place back at once, and not with the beat that nobody takes."""

import itertools
import queue
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import pytest

from cluster.services.people import sessions
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
    assert not make_disconnect_check({})()


def test_the_place_of_a_tab_that_is_gone_is_free(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sessions, "find_session", lambda *_: object())
    ours, theirs = socket.socketpair()
    looks = itertools.count()
    places = StreamSlots(is_closing=lambda: next(looks) > LAST_LOOK)
    doorbell = SimpleNamespace(subscribe=a_silent_listener)
    about: Any = {"cluster": None, "actor": SimpleNamespace(user_id=7), "event_hub": doorbell}
    tab = TabStream(
        **about,
        token="t",
        topics=frozenset(),
        job_ids=(),
        is_disconnected=make_disconnect_check({"gunicorn.socket": ours}),
    )
    heard = tab.events(places)
    assert "retry" in next(heard) and "beat" in next(heard)
    assert places.used_by_person == {7: 1}
    theirs.close()
    with ours:
        assert list(heard) == []
    assert next(looks) < LAST_LOOK
    assert places.used_by_person.total() == 0


@contextmanager
def a_silent_listener() -> Iterator[Any]:
    yield SimpleNamespace(has_overflowed=False, events=queue.Queue())
