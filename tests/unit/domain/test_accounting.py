"""Seconds in each state and unit hours, over several attempts."""

from datetime import UTC, datetime, timedelta

import pytest

from cluster.domain.accounting import Holding, StateChange, seconds_in_states, unit_hours
from cluster.domain.states import JobState

START = datetime(2026, 11, 20, 5, 0, tzinfo=UTC)


def at(seconds: int) -> datetime:
    return START + timedelta(seconds=seconds)


HISTORY = [
    StateChange(at(0), JobState.WAITING),
    StateChange(at(10), JobState.STARTING),
    StateChange(at(12), JobState.RUNNING),
    StateChange(at(42), JobState.WAITING),
    StateChange(at(50), JobState.RUNNING),
    StateChange(at(90), JobState.FINISHED),
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
    holdings = [Holding(2, at(0), at(1800)), Holding(2, at(3600), None), Holding(1, at(9999), None)]
    assert unit_hours(holdings, at(5400)) == pytest.approx(2.0)
