"""How long a job was in each state, and how many unit hours it held (T14)."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from cluster.domain.states import JobState


@dataclass(frozen=True)
class StateChange:
    """From `at` on the job was in `state`."""

    at: datetime
    state: JobState


@dataclass(frozen=True)
class Holding:
    """Units held from `begun_at` until `ended_at` (None: still)."""

    units: int
    begun_at: datetime
    ended_at: datetime | None


def seconds_in_states(
    changes: Sequence[StateChange], ended_at: datetime | None, now: datetime
) -> dict[JobState, float]:
    """Seconds in each state that the job was in, in the order of their first appearance."""
    spent: dict[JobState, float] = {}
    ordered = sorted(changes, key=lambda change: change.at)
    until = [*(change.at for change in ordered[1:]), ended_at or now]
    for change, end in zip(ordered, until, strict=False):
        if change.state in (JobState.FINISHED, JobState.FAILED, JobState.STOPPED):
            continue
        seconds = max(0.0, (end - change.at).total_seconds())
        spent[change.state] = spent.get(change.state, 0.0) + seconds
    return spent


def unit_hours(holdings: Sequence[Holding], now: datetime) -> float:
    """Units times hours over all attempts, the living one up to now."""
    seconds = (
        holding.units * max(0.0, ((holding.ended_at or now) - holding.begun_at).total_seconds())
        for holding in holdings
    )
    return sum(seconds) / 3600
