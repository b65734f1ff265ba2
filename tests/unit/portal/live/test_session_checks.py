"""One read per interval tells for all open streams which sessions live."""

from collections.abc import Collection
from typing import Any

import pytest

from cluster.services.people import sessions
from portal.live.session_checks import CHECK_SECONDS, SessionChecks


class Sessions:
    """Those that live, and what was asked for."""

    def __init__(self, *live: str) -> None:
        self.live = set(live)
        self.reads: list[set[str]] = []

    def filter_live_tokens(self, _cluster: object, tokens: Collection[str]) -> set[str]:
        self.reads.append(set(tokens))
        return self.live & set(tokens)


@pytest.fixture
def known(monkeypatch: pytest.MonkeyPatch) -> Sessions:
    known = Sessions("a", "b")
    monkeypatch.setattr(sessions, "filter_live_tokens", known.filter_live_tokens)
    return known


@pytest.fixture
def now() -> list[float]:
    return [1000.0]


@pytest.fixture
def checks(now: list[float]) -> SessionChecks:
    nothing: Any = None
    return SessionChecks(nothing, lambda: now[0])


def test_all_streams_are_answered_by_one_read_per_interval(
    checks: SessionChecks, known: Sessions, now: list[float]
) -> None:
    with checks.watch("a"), checks.watch("a"), checks.watch("b"):
        for _ in range(10):
            assert checks.is_live("a") and checks.is_live("b")
        assert known.reads == [{"a", "b"}]
        now[0] += CHECK_SECONDS
        assert checks.is_live("b")
        assert known.reads == [{"a", "b"}] * 2


def test_a_session_that_ended_is_seen_at_the_next_read(
    checks: SessionChecks, known: Sessions, now: list[float]
) -> None:
    with checks.watch("a"), checks.watch("b"):
        assert checks.is_live("a")
        known.live.discard("a")
        assert checks.is_live("a"), "the last read counts for an interval"
        now[0] += CHECK_SECONDS
        assert not checks.is_live("a")
        assert checks.is_live("b")


def test_only_tokens_with_an_open_stream_are_read(
    checks: SessionChecks, known: Sessions, now: list[float]
) -> None:
    with checks.watch("a"):
        with checks.watch("a"), checks.watch("b"):
            pass
        assert checks.is_live("a")
        assert known.reads == [{"a"}]
    assert not checks.streams_by_token


def test_a_read_that_fails_is_tried_again(
    checks: SessionChecks, known: Sessions, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> set[str]:
        raise ConnectionError

    with checks.watch("a"):
        with monkeypatch.context() as broken:
            broken.setattr(sessions, "filter_live_tokens", fail)
            with pytest.raises(ConnectionError):
                checks.is_live("a")
        known.live.clear()
        assert not checks.is_live("a")
