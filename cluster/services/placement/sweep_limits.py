"""Reads how many more jobs of each sweep may start now."""

from collections.abc import Collection, Iterable, Mapping
from typing import Protocol

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from cluster.domain.queue.reasons import SweepLimitReached
from cluster.domain.states import JobState
from cluster.store.jobs import Job, Sweep


class HasSweep(Protocol):
    """A job's row, or the columns of one."""

    @property
    def id(self) -> int: ...

    @property
    def sweep_id(self) -> int | None: ...


STARTED_STATES = (JobState.STARTING, JobState.RUNNING, JobState.STOPPING)


def read_sweep_slots(session: Session, sweep_ids: Collection[int]) -> dict[int, tuple[int, int]]:
    """{sweep: (most at once, how many more may start now)} of those that have a limit."""
    if not sweep_ids:
        return {}
    known = select(Sweep.id, Sweep.most_at_once).where(Sweep.id.in_(sweep_ids))
    return read_slots_within(
        session, {row[0]: row[1] for row in session.execute(known) if row[1] is not None}
    )


def read_slots_within(session: Session, limits: Mapping[int, int]) -> dict[int, tuple[int, int]]:
    """The same, with the limits known: {sweep: most at once}."""
    if not limits:
        return {}
    running = select(Job.sweep_id, func.count()).where(
        Job.sweep_id.in_(limits), Job.state.in_(STARTED_STATES)
    )
    busy = {row[0]: row[1] for row in session.execute(running.group_by(Job.sweep_id))}
    return {sweep: (most, max(0, most - busy.get(sweep, 0))) for sweep, most in limits.items()}


def find_sweep_limited(session: Session, waiting: Iterable[HasSweep]) -> dict[int, SweepLimitReached]:
    """By job: those that would be one too many of their sweep, with `waiting` in the order of the line."""
    ours = [(job.id, job.sweep_id) for job in waiting if job.sweep_id is not None]
    room = read_sweep_slots(session, {sweep_id for _, sweep_id in ours}) if ours else {}
    left = {sweep_id: free for sweep_id, (_, free) in room.items()}
    limited: dict[int, SweepLimitReached] = {}
    for job_id, sweep_id in ours:
        if sweep_id in room:
            left[sweep_id] -= 1
            if left[sweep_id] < 0:
                limited[job_id] = SweepLimitReached(sweep_id, room[sweep_id][0])
    return limited
