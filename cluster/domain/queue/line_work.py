"""Estimates deep in a queue when a job starts: the work before it divided by what its workspace may use."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from cluster.domain.queue.start_estimate import EstimateSource, StartEstimate


@dataclass(frozen=True)
class LineWork:
    """The work in one workspace's line and in its running jobs; changes only if one of them does.

    Ends of running jobs are seconds since 1970.
    """

    quota: int
    jobs: int
    unit_seconds: float
    """The sum over all jobs of the line."""
    largest: int
    """Units of the largest job of the line."""
    longest: float
    """Seconds of the longest one."""
    running_units: int
    running_ends: float
    """The running jobs' ends, each times its units, summed."""
    last_end: float


def estimate_start_range(work: LineWork, ahead: int, is_more: bool, now: datetime) -> StartEstimate:
    """The start of a job behind `ahead` jobs of its line; `is_more`: it may be the last of the line as well.

    Earliest: the quota is full all the time. Latest: while the largest job waits, fewer units than it needs
    are idle, so the rest work (Graham's bound for a list); then the longest one has to end.
    """
    moment = now.timestamp()
    running = max(0.0, work.running_ends - moment * work.running_units)
    part = work.unit_seconds * min(1.0, ahead / work.jobs)
    most = work.unit_seconds if is_more else part
    longest = max(work.longest, work.last_end - moment)
    return StartEstimate(
        earliest_at=now + timedelta(seconds=(part + running) / work.quota),
        latest_at=now + timedelta(seconds=(most + running) / (work.quota - work.largest + 1) + longest),
        source=EstimateSource.TOTALS,
    )
