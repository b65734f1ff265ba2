"""The schedule owes one backup per night, also after nights that were missed and clocks that were set."""

from datetime import UTC, datetime, time, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cluster.domain.backups.schedule import due_night, last_due, next_due, parse_time_of_day

SEOUL = ZoneInfo("Asia/Seoul")
THREE = time(3, 0)
NIGHT = datetime(2026, 11, 20, 18, 0, tzinfo=UTC)
"""03:00 of the 21st in Seoul."""


@pytest.mark.parametrize(("text", "at"), [("03:00", THREE), ("23:59", time(23, 59))])
def test_a_time_of_day_is_written_with_hours_and_minutes(text: str, at: time) -> None:
    assert parse_time_of_day(text) == at


@pytest.mark.parametrize("text", ["", "3:00", "03:00:00", "24:00", "0300", "03-00", "night"])
def test_any_other_text_is_no_time_of_day(text: str) -> None:
    with pytest.raises(ValueError):
        parse_time_of_day(text)


@pytest.mark.parametrize(
    ("now", "asked_for", "is_owed"),
    [
        (NIGHT - timedelta(minutes=1), NIGHT - timedelta(days=1), False),
        (NIGHT, NIGHT - timedelta(days=1), True),
        (NIGHT + timedelta(hours=9), NIGHT - timedelta(days=4), True),
        (NIGHT + timedelta(hours=9), NIGHT, False),
        (NIGHT, NIGHT + timedelta(days=300), True),
    ],
    ids=["not yet", "now", "missed nights", "asked for", "clock set back"],
)
def test_a_night_is_owed_once(now: datetime, asked_for: datetime, is_owed: bool) -> None:
    assert (due_night(now, SEOUL, THREE, asked_for) is not None) is is_owed


@given(st.integers(0, 2 * 366 * 24 * 60))
def test_the_last_night_is_less_than_a_long_day_ago(minutes: int) -> None:
    now = NIGHT + timedelta(minutes=minutes)
    zone = ZoneInfo("Europe/Berlin")
    found = last_due(now, zone, THREE)
    assert timedelta(0) <= now - found < timedelta(hours=25)
    assert due_night(now, zone, THREE, found) is None


@pytest.mark.parametrize(
    ("hour", "following"),
    [(2, datetime(2026, 11, 20, 18, tzinfo=UTC)), (18, datetime(2026, 11, 21, 18, tzinfo=UTC))],
)
def test_the_next_night_is_the_first_one_to_come(hour: int, following: datetime) -> None:
    """03:00 in Seoul is 18:00 in UTC."""
    now = datetime(2026, 11, 20, hour, tzinfo=UTC)
    assert next_due(now, ZoneInfo("Asia/Seoul"), time(3, 0)) == following
