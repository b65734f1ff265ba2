"""Retention keeps the last verified backup always, and few of the old ones."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from hypothesis import given
from hypothesis import strategies as st

from cluster.domain.backups.retention import (
    DAYS,
    MONTHS,
    WEEKS,
    StoredBackup,
    surplus_backups,
)

SEOUL = ZoneInfo("Asia/Seoul")
NIGHT = datetime(2026, 11, 20, 18, 0, tzinfo=UTC)
"""03:00 of the 21st in Seoul."""


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
