"""Reads the reasons that many jobs share: datasets that are not ready, full sweeps, and pauses between tries."""

from datetime import datetime

from sqlalchemy import select
from sqlalchemy.orm import Session

from cluster.domain.queue.reasons import RetryBackoff, SweepLimitReached, WaitingReason
from cluster.domain.queue.retry_backoff import parse_backoff
from cluster.domain.queue.start_estimate import MAX_AHEAD_COUNTED
from cluster.domain.states import DatasetState
from cluster.services.placement.queue_heads import WAITING_STATE
from cluster.services.placement.start_blockers import read_dataset_reasons, read_slots_within
from cluster.store.datasets import Dataset
from cluster.store.jobs import Job, Sweep


def read_unready_datasets(session: Session) -> dict[int, WaitingReason]:
    """Datasets that are not ready and for which somebody waits."""
    waits = select(Job.id).where(Job.dataset_id == Dataset.id, Job.state == WAITING_STATE).exists()
    ids = session.scalars(select(Dataset.id).where(Dataset.state != DatasetState.READY, waits)).all()
    return read_dataset_reasons(session, ids)


def read_backed_off_jobs(session: Session, now: datetime) -> list[int]:
    """Finds the jobs by the index of reasons. If there are more than are counted, the others count as the rest.

    A job that others have overtaken meanwhile keeps the reason of its row although its pause is over.
    """
    paused = select(Job.id, Job.waiting_code, Job.waiting_data).where(
        Job.waiting_code == RetryBackoff.code, Job.state == WAITING_STATE
    )
    rows = session.execute(paused.order_by(Job.id).limit(MAX_AHEAD_COUNTED))
    return [job_id for job_id, code, data in rows if parse_backoff(code, data, now)]


def read_full_sweeps(session: Session) -> dict[int, WaitingReason]:
    """Finds the sweeps that have waiting jobs and of which no further job may start now."""
    waits = select(Job.id).where(Job.sweep_id == Sweep.id, Job.state == WAITING_STATE).exists()
    limited = select(Sweep.id, Sweep.most_at_once).where(Sweep.most_at_once.is_not(None), waits)
    limits = {row[0]: row[1] for row in session.execute(limited) if row[1] is not None}
    slots = read_slots_within(session, limits)
    return {
        sweep_id: SweepLimitReached(sweep_id, most) for sweep_id, (most, left) in slots.items() if left == 0
    }
