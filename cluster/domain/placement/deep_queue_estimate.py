"""Estimate the start of a job deep in a queue as a range, from the amount of work before it."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from cluster.domain.placement.start_forecast import StartForecast
from cluster.domain.placement.types import RunningOnNode
from cluster.domain.queue.start_estimate import EstimateSource


@dataclass(frozen=True)
class QueuedShapeTotal:
    """Jobs of one workspace with the same units; `seconds` is what one of them takes on average."""

    units: int
    count: int
    seconds: float | None


def estimate_start_range(
    job_id: int,
    ahead: Sequence[QueuedShapeTotal],
    running: Sequence[RunningOnNode],
    quota: int,
    now: datetime,
) -> StartForecast | None:
    """None if the length of any job ahead is unknown, or if a job ahead needs more units than the quota.

    Earliest: the quota is full all the time. Latest: while the largest job waits, fewer units than it needs
    are idle, so the rest work (Graham's bound for a list); then the longest one has to end.
    """
    lengths = [(total.units * total.count, total.seconds) for total in ahead]
    lengths += [(run.units, seconds_remaining(run, now)) for run in running]
    largest = max((total.units for total in ahead), default=1)
    if largest > quota or any(seconds is None for _, seconds in lengths):
        return None
    work = sum(units * (seconds or 0.0) for units, seconds in lengths)
    longest = max((seconds or 0.0 for _, seconds in lengths), default=0.0)
    earliest = now + timedelta(seconds=work / quota)
    latest = now + timedelta(seconds=work / (quota - largest + 1) + longest)
    return StartForecast(job_id, None, earliest, latest, EstimateSource.TOTALS)


def seconds_remaining(run: RunningOnNode, now: datetime) -> float | None:
    return (run.ends_at - now).total_seconds() if run.ends_at and run.ends_at > now else None
