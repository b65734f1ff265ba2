"""An idle notebook is announced first and stopped afterwards, and never while a kernel works."""

from datetime import UTC, datetime, timedelta

import pytest

from cluster.domain.notebooks.idle_time import (
    Announce,
    IdleDecision,
    InUse,
    StopIdle,
    decide_idle,
    warning_time,
)

NOON = datetime(2026, 11, 24, 12, 0, tzinfo=UTC)
LIMIT = timedelta(hours=2)


def at(minutes: float) -> datetime:
    return NOON + timedelta(minutes=minutes)


@pytest.mark.parametrize(
    ("now", "used_at", "is_busy", "stops_at", "expected"),
    [
        (0, 0, False, None, InUse()),
        (104, 0, False, None, InUse()),
        (105, 0, False, None, Announce(at(120))),
        (105, 0, True, None, InUse()),
        (110, 0, False, 120, Announce(at(120))),
        (120, 0, False, 120, StopIdle(at(0))),
        (120, 0, True, 120, InUse()),
        (121, 119, False, 120, InUse()),
        # The scheduler was away for hours: the person hears of it before it is stopped.
        (600, 0, False, None, Announce(at(615))),
        (614, 0, False, 615, Announce(at(615))),
        (615, 0, False, 615, StopIdle(at(0))),
        (616, 610, False, 615, InUse()),
    ],
)
def test_what_is_done_follows_from_the_last_use_and_the_announcement(
    now: float, used_at: float, is_busy: bool, stops_at: float | None, expected: IdleDecision
) -> None:
    announced = None if stops_at is None else at(stops_at)
    assert decide_idle(at(now), at(used_at), is_busy, LIMIT, announced) == expected


def test_without_a_limit_nothing_is_ever_stopped() -> None:
    assert decide_idle(at(99999), at(0), False, None, at(1)) == InUse()


@pytest.mark.parametrize(("limit", "warning"), [(120, 15), (30, 15), (20, 10), (2, 1)])
def test_the_warning_is_at_most_half_of_the_time(limit: float, warning: float) -> None:
    assert warning_time(timedelta(minutes=limit)) == timedelta(minutes=warning)
