"""Guessing gets slow, and never impossible for ever."""

from datetime import UTC, datetime, timedelta

import pytest

from cluster.domain.people.sign_in_throttle import (
    WINDOW,
    minutes_left,
    sign_in_throttled_until,
    throttled_until,
)

NOW = datetime(2026, 11, 20, 5, 0, tzinfo=UTC)


def tries(number: int, last: datetime = NOW) -> list[datetime]:
    return [last - timedelta(seconds=second) for second in range(number)]


@pytest.mark.parametrize(
    ("number", "seconds"),
    [(0, None), (4, None), (5, 30), (6, 60), (7, 120), (8, 240), (9, 480), (10, 900), (11, 900), (500, 900)],
)
def test_the_wait_doubles_up_to_a_quarter_of_an_hour(number: int, seconds: int | None) -> None:
    until = throttled_until(tries(number), NOW)
    assert until == (None if seconds is None else NOW + timedelta(seconds=seconds))


def test_the_lock_opens_by_itself() -> None:
    assert throttled_until(tries(5, NOW - timedelta(seconds=31)), NOW) is None
    assert throttled_until(tries(500, NOW - WINDOW), NOW) is None


def test_tries_from_the_future_do_not_count() -> None:
    assert throttled_until(tries(5, NOW + timedelta(hours=1)), NOW) is None


def test_an_address_has_more_tries_than_a_name() -> None:
    assert sign_in_throttled_until(tries(3), tries(29), NOW) is None
    assert sign_in_throttled_until(tries(3), tries(30), NOW) == NOW + timedelta(seconds=30)
    assert sign_in_throttled_until(tries(6), tries(30), NOW) == NOW + timedelta(seconds=60)


@pytest.mark.parametrize(("seconds", "minutes"), [(1, 1), (59, 1), (60, 1), (61, 2), (900, 15), (-5, 1)])
def test_minutes_are_rounded_up(seconds: int, minutes: int) -> None:
    assert minutes_left(NOW + timedelta(seconds=seconds), NOW) == minutes
