"""How long a job waited and ran, and the unit hours that it held."""

from datetime import UTC, datetime, timedelta

import pytest

from cluster.domain.states import JobState
from cluster.store.jobs import Attempt, Job, JobEvent
from cluster.store.nodes import Allocation
from portal.presenters.jobs import job_times

START = datetime(2026, 11, 20, 5, 0, tzinfo=UTC)


def at(minutes: int) -> datetime:
    return START + timedelta(minutes=minutes)


@pytest.mark.parametrize(
    ("job", "waited", "ran"),
    [
        (Job(submitted_at=at(0)), 3600, None),
        (Job(submitted_at=at(0), ended_at=at(5)), 300, None),
        (Job(submitted_at=at(0), dispatched_at=at(10), started_at=at(12)), 600, 48 * 60),
        (Job(submitted_at=at(0), dispatched_at=at(10), started_at=at(12), ended_at=at(20)), 600, 480),
    ],
)
def test_seconds_waited_and_ran_an_hour_after_the_submission(
    job: Job, waited: float, ran: float | None
) -> None:
    assert job_times.job_waited_seconds(job, at(60)) == waited
    assert job_times.job_ran_seconds(job, at(60)) == ran


def test_each_unit_counts_for_as_long_as_it_was_held() -> None:
    ended = Attempt(allocations=[Allocation(begun_at=at(0), ended_at=at(30)) for _ in range(2)])
    live = Attempt(allocations=[Allocation(begun_at=at(30))])
    assert job_times.job_unit_hours([ended, live], at(60)) == pytest.approx(1.5)


def test_states_are_in_the_order_in_which_they_first_came() -> None:
    events = [
        JobEvent(at=at(0), state="waiting"),
        JobEvent(at=at(10), state="running"),
        JobEvent(at=at(20), state="waiting"),
        JobEvent(at=at(25), state="running"),
    ]
    job = Job(submitted_at=at(0), state=JobState.FINISHED, ended_at=at(30), events=events)
    assert job_times.job_seconds_by_state(job, at(60)) == [("waiting", 900.0), ("running", 900.0)]


def test_a_job_without_history_is_in_its_state_since_its_submission() -> None:
    job = Job(submitted_at=at(0), state=JobState.WAITING, events=[])
    assert job_times.job_seconds_by_state(job, at(2)) == [("waiting", 120.0)]
