"""A night is owed once; of the backups the last verified one always stays, and few of the old ones."""

from datetime import UTC, datetime, time, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cluster.domain.backups.retention import (
    DAYS,
    MONTHS,
    WEEKS,
    StoredBackup,
    surplus_backups,
)
from cluster.domain.backups.schedule import due_night, last_due, next_due

SEOUL = ZoneInfo("Asia/Seoul")
THREE = time(3, 0)
NIGHT = datetime(2026, 11, 20, 18, 0, tzinfo=UTC)
"""03:00 of the 21st in Seoul."""


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


backups = st.lists(
    st.tuples(st.integers(0, 24 * 500), st.booleans()), max_size=80, unique_by=lambda each: each[0]
).map(lambda found: [StoredBackup(str(hours), NIGHT - timedelta(hours=hours), good) for hours, good in found])


@given(backups)
def test_the_last_verified_one_always_stays(kept: list[StoredBackup]) -> None:
    verified = [each for each in kept if each.is_verified]
    if verified:
        assert max(verified, key=lambda each: each.made_at).name not in surplus_backups(kept, SEOUL)
    else:
        assert surplus_backups(kept, SEOUL) == set()


@given(backups)
def test_few_stay_and_a_second_look_takes_no_more(kept: list[StoredBackup]) -> None:
    gone = surplus_backups(kept, SEOUL)
    left = [each for each in kept if each.name not in gone]
    assert sum(each.is_verified for each in left) <= DAYS + WEEKS + MONTHS
    assert surplus_backups(left, SEOUL) == set()


def test_seven_days_four_weeks_and_twelve_months_stay_of_two_years_of_nights() -> None:
    nights = [StoredBackup(str(day), NIGHT - timedelta(days=day), True) for day in range(730)]
    left = {int(each.name) for each in nights} - {int(name) for name in surplus_backups(nights, SEOUL)}
    assert set(range(DAYS)) <= left
    # Saturday the 21st is the newest of its week and month too, and Sunday the 15th the newest of the week before.
    assert len(left) == DAYS + WEEKS + MONTHS - 3
    assert max(left) == (NIGHT - datetime(2025, 12, 30, 18, 0, tzinfo=UTC)).days


def test_what_was_never_proved_goes_once_a_proved_one_is_a_week_newer() -> None:
    proved = StoredBackup("proved", NIGHT, True)
    old, new = (
        StoredBackup(name, NIGHT - timedelta(days=days), False) for name, days in (("old", 8), ("new", 6))
    )
    assert surplus_backups([proved, old, new], SEOUL) == {"old"}


@pytest.mark.parametrize(
    ("hour", "following"),
    [(2, datetime(2026, 11, 20, 18, tzinfo=UTC)), (18, datetime(2026, 11, 21, 18, tzinfo=UTC))],
)
def test_the_next_night_is_the_first_one_to_come(hour: int, following: datetime) -> None:
    """03:00 in Seoul is 18:00 in UTC."""
    now = datetime(2026, 11, 20, hour, tzinfo=UTC)
    assert next_due(now, ZoneInfo("Asia/Seoul"), time(3, 0)) == following
