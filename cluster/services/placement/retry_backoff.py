"""Reads the retry backoff of jobs that the platform interrupted early: how many interruptions in a row, and until
when a job waits."""

from collections.abc import Iterable
from datetime import datetime

from sqlalchemy import select
from sqlalchemy.orm import Session

from cluster.domain.queue import retry_backoff
from cluster.domain.queue.reasons import RetryBackoff
from cluster.domain.queue.retry_backoff import MAX_INTERRUPTIONS_IN_A_ROW, parse_backoff
from cluster.services.placement.queue_heads import QueuedJobRow
from cluster.store.jobs import Attempt, Job


def read_interruptions_in_a_row(session: Session, job_id: int) -> int:
    """How many of its last attempts were interrupted as soon as they began; no more than matter."""
    query = (
        select(Attempt.end_code, Attempt.created_at, Attempt.ended_at)
        .where(Attempt.job_id == job_id, Attempt.ended_at.is_not(None))
        .order_by(Attempt.number.desc())
        .limit(MAX_INTERRUPTIONS_IN_A_ROW)
    )
    ends = ((code, ended - begun) for code, begun, ended in session.execute(query) if ended is not None)
    return retry_backoff.count_interruptions_in_a_row(ends)


def read_backoffs(session: Session, jobs: Iterable[QueuedJobRow], now: datetime) -> dict[int, RetryBackoff]:
    """By job, of those whose pause is not over."""
    ids = [job.id for job in jobs if job.waiting_code == RetryBackoff.code]
    if not ids:
        return {}
    rows = session.execute(select(Job.id, Job.waiting_code, Job.waiting_data).where(Job.id.in_(ids)))
    found = {job_id: parse_backoff(code, data, now) for job_id, code, data in rows}
    return {job_id: pause for job_id, pause in found.items() if pause}
