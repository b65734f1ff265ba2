"""Records what an attempt used, and sums the usage of its job over all attempts."""

from datetime import datetime

from sqlalchemy import select
from sqlalchemy.orm import Session

from cluster.domain.jobs.exits import ExitRecord
from cluster.store.jobs import Attempt, Job


def record_usage(session: Session, attempt: Attempt, truth: ExitRecord | None) -> None:
    """Called once, when the attempt has ended. The job keeps sums, the highest peak, the mean over time."""
    if truth is None:
        return
    attempt.cpu_seconds, attempt.max_memory_bytes = truth.cpu_seconds, truth.max_rss_bytes
    attempt.average_memory_bytes = truth.average_rss_bytes
    attempt.unit_seconds_used, attempt.storage_bytes = truth.unit_seconds_used, truth.out_bytes
    former: list[Attempt] = []
    if attempt.number > 1:
        query = select(Attempt).where(Attempt.job_id == attempt.job_id, Attempt.id != attempt.id)
        former = list(session.scalars(query))
    sum_job_usage(attempt.job, [*former, attempt])


def sum_job_usage(job: Job, attempts: list[Attempt]) -> None:
    job.cpu_seconds = sum_known([each.cpu_seconds for each in attempts])
    job.unit_seconds_used = sum_known([each.unit_seconds_used for each in attempts])
    peaks = [each.max_memory_bytes for each in attempts if each.max_memory_bytes is not None]
    job.max_memory_bytes = max(peaks, default=None)
    stored = [each.storage_bytes for each in attempts if each.storage_bytes is not None]
    job.storage_bytes = sum(stored) if stored else None
    job.average_memory_bytes = mean_over_time(attempts)


def sum_known(parts: list[float | None]) -> float | None:
    """None where nothing was measured; what one attempt lacks is left out."""
    known = [part for part in parts if part is not None]
    return sum(known) if known else None


def mean_over_time(attempts: list[Attempt]) -> int | None:
    weighed = [
        (each.average_memory_bytes, max(1.0, run_seconds(each.started_at, each.ended_at)))
        for each in attempts
        if each.average_memory_bytes is not None
    ]
    if not weighed:
        return None
    return int(sum(size * seconds for size, seconds in weighed) / sum(seconds for _, seconds in weighed))


def run_seconds(begin: datetime | None, end: datetime | None) -> float:
    return (end - begin).total_seconds() if begin and end else 0.0
