"""Seconds in each state and unit hours, over several attempts."""

from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from cluster.domain.errors import Refused
from cluster.domain.jobs.accounting import (
    CalendarMonth,
    JobStateChange,
    UnitHolding,
    last_days,
    month_of,
    parse_month,
    seconds_in_states,
    unit_hours,
)
from cluster.domain.states import JobState

START = datetime(2026, 11, 20, 5, 0, tzinfo=UTC)


def at(seconds: int) -> datetime:
    return START + timedelta(seconds=seconds)


HISTORY = [
    JobStateChange(at(0), JobState.WAITING),
    JobStateChange(at(10), JobState.STARTING),
    JobStateChange(at(12), JobState.RUNNING),
    JobStateChange(at(42), JobState.WAITING),
    JobStateChange(at(50), JobState.RUNNING),
    JobStateChange(at(90), JobState.FINISHED),
]


def test_a_job_that_was_interrupted_once() -> None:
    assert seconds_in_states(HISTORY, at(90), at(500)) == {
        JobState.WAITING: 18,
        JobState.STARTING: 2,
        JobState.RUNNING: 70,
    }


def test_a_living_job_is_counted_up_to_now() -> None:
    assert seconds_in_states(HISTORY[:3], None, at(100))[JobState.RUNNING] == 88


def test_no_history_is_no_time() -> None:
    assert seconds_in_states([], None, at(0)) == {}


def test_a_clock_that_was_set_back_takes_nothing_away() -> None:
    assert seconds_in_states(HISTORY[:1], None, at(-100)) == {JobState.WAITING: 0}


def test_unit_hours_add_up_over_attempts() -> None:
    holdings = [
        UnitHolding(2, at(0), at(1800)),
        UnitHolding(2, at(3600), None),
        UnitHolding(1, at(9999), None),
    ]
    assert unit_hours(holdings, at(5400)) == pytest.approx(2.0)


SEOUL = ZoneInfo("Asia/Seoul")


def test_a_month_begins_at_the_installations_midnight() -> None:
    assert CalendarMonth(2026, 11).starts_at(SEOUL) == datetime(2026, 10, 31, 15, tzinfo=UTC)
    assert CalendarMonth(2026, 12).ends_at(SEOUL) == datetime(2026, 12, 31, 15, tzinfo=UTC)
    assert month_of(datetime(2026, 10, 31, 16, tzinfo=UTC), SEOUL) == CalendarMonth(2026, 11)


def test_months_follow_one_another() -> None:
    assert (CalendarMonth(2026, 12).next(), CalendarMonth(2027, 1).before()) == (
        CalendarMonth(2027, 1),
        CalendarMonth(2026, 12),
    )
    assert CalendarMonth(2026, 11).next() == CalendarMonth(2027, 1).before()
    assert str(CalendarMonth(2026, 1)) == "2026-01"
    assert parse_month("2026-01") == CalendarMonth(2026, 1)


@pytest.mark.parametrize(
    "text", ["", "2026", "2026-13", "2026-00", "1999-01", "2026-1", "２026-01", "2026-01 "]
)
def test_what_is_no_month_is_refused(text: str) -> None:
    with pytest.raises(Refused) as refused:
        parse_month(text)
    assert refused.value.field == "month"


def test_the_last_days_are_those_of_the_zone_and_as_long_as_they_were() -> None:
    # On 2026-10-25 Berlin's clocks went back by an hour; it is past midnight there.
    days = last_days(3, datetime(2026, 10, 25, 23, 30, tzinfo=UTC), ZoneInfo("Europe/Berlin"))
    assert [day.day for day in days] == [date(2026, 10, 24), date(2026, 10, 25), date(2026, 10, 26)]
    assert [(day.ends_at - day.starts_at).total_seconds() / 3600 for day in days] == [24, 25, 24]
    assert days[0].ends_at == days[1].starts_at == datetime(2026, 10, 24, 22, tzinfo=UTC)
