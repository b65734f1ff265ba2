"""A session that was refused a stream is refused again without a question, for a while and not longer."""

import pytest

from portal.live import client_limits
from portal.live.client_limits import REFUSED_SECONDS, ClientLimits


def test_a_refusal_counts_for_a_while_and_for_one_session() -> None:
    now = [1000.0]
    limits = ClientLimits(lambda: now[0])
    limits.note_refusal("a")
    assert limits.is_refused_for_now("a") and not limits.is_refused_for_now("b")
    now[0] += REFUSED_SECONDS
    assert not limits.is_refused_for_now("a")


def test_only_the_last_refusals_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client_limits, "MAX_REFUSED_SESSIONS", 2)
    limits = ClientLimits(lambda: 1000.0)
    for token in "abac":
        limits.note_refusal(token)
    assert [limits.is_refused_for_now(token) for token in "abc"] == [True, False, True]
