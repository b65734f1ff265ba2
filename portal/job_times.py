"""Where a job's time went: seconds in each state, unit hours, and what it used."""

from collections.abc import Sequence
from datetime import datetime

from cluster.domain.states import ENDED_JOB_STATES
from cluster.store.jobs import Attempt, Job


def seconds_in_states(job: Job, now: datetime) -> list[tuple[str, float]]:
    """(state, seconds) in the order in which they first came; ended states take no time."""
    moments = [(event.state, event.at) for event in job.events] or [(job.state.value, job.submitted_at)]
    ends = [at for _, at in moments[1:]] + [job.ended_at or now]
    sums: dict[str, float] = {}
    for (state, begin), end in zip(moments, ends, strict=True):
        if state not in ENDED_JOB_STATES:
            sums[state] = sums.get(state, 0.0) + max(0.0, (end - begin).total_seconds())
    return list(sums.items())


def unit_seconds(attempts: Sequence[Attempt], now: datetime) -> float:
    """Units times seconds that they were held, over all attempts."""
    return sum(
        max(0.0, ((held.ended_at or now) - held.begun_at).total_seconds())
        for attempt in attempts
        for held in attempt.allocations
    )


def waited_seconds(job: Job, now: datetime) -> float:
    return ((job.dispatched_at or job.ended_at or now) - job.submitted_at).total_seconds()


def ran_seconds(job: Job, now: datetime) -> float | None:
    """From the first start to the end; None where it never started."""
    return ((job.ended_at or now) - job.started_at).total_seconds() if job.started_at else None
