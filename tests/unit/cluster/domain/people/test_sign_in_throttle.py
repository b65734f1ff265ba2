"""Guessing gets slow, and never impossible for ever."""

from datetime import UTC, datetime, timedelta

import pytest

from cluster.domain.people.sign_in_throttle import (
    WINDOW,
    address_delay,
    minutes_left,
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


@pytest.mark.parametrize(
    ("number", "seconds"),
    [(0, 0), (29, 0), (30, 1), (39, 1), (40, 2), (50, 4), (60, 8), (70, 8), (5000, 8)],
)
def test_tries_from_one_address_are_answered_later_and_later(number: int, seconds: int) -> None:
    assert address_delay([NOW] * number, NOW) == timedelta(seconds=seconds)


def test_an_address_is_forgiven_after_a_while() -> None:
    assert address_delay([NOW - WINDOW] * 500, NOW) == timedelta(0)
    assert address_delay([NOW + timedelta(hours=1)] * 500, NOW) == timedelta(0)


@pytest.mark.parametrize(("seconds", "minutes"), [(1, 1), (59, 1), (60, 1), (61, 2), (900, 15), (-5, 1)])
def test_minutes_are_rounded_up(seconds: int, minutes: int) -> None:
    assert minutes_left(NOW + timedelta(seconds=seconds), NOW) == minutes
