"""The times of a job from its rows: how long it waited and ran, and the unit hours that it held."""

from collections.abc import Sequence
from datetime import datetime

from cluster.domain.jobs.accounting import JobStateChange, UnitHolding, seconds_in_states, unit_hours
from cluster.domain.states import JobState
from cluster.store.jobs import Attempt, Job


def job_seconds_by_state(job: Job, now: datetime) -> list[tuple[str, float]]:
    """(state, seconds) in the order in which the job entered the states. Ended states take no time."""
    changes = [JobStateChange(event.at, JobState(event.state)) for event in job.events]
    changes = changes or [JobStateChange(job.submitted_at, job.state)]
    return [
        (state.value, seconds) for state, seconds in seconds_in_states(changes, job.ended_at, now).items()
    ]


def job_unit_hours(attempts: Sequence[Attempt], now: datetime) -> float:
    """The units times the hours for which all attempts held them."""
    holdings = [
        UnitHolding(1, held.begun_at, held.ended_at) for attempt in attempts for held in attempt.allocations
    ]
    return unit_hours(holdings, now)


def job_waited_seconds(job: Job, now: datetime) -> float:
    return ((job.dispatched_at or job.ended_at or now) - job.submitted_at).total_seconds()


def job_ran_seconds(job: Job, now: datetime) -> float | None:
    """The seconds from the first start to the end; None if it never started."""
    return ((job.ended_at or now) - job.started_at).total_seconds() if job.started_at else None
