"""Writes the events of jobs and sweeps that have ended, in the transaction that records the end."""

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import bindparam, select
from sqlalchemy.orm import Session

from cluster.domain.notifications.events import JOB_ENDS, kind_of_job_end
from cluster.domain.states import JobState, NotificationKind
from cluster.store.alerts import NotificationChoice, add_notification_events
from cluster.store.jobs import Job, Sweep

SENTENCES = {
    JobState.FINISHED: "notification.job_finished",
    JobState.FAILED: "notification.job_failed",
    JobState.STOPPED: "notification.job_stopped",
}
KINDS_OF_PEOPLE = select(NotificationChoice.user_id, NotificationChoice.kinds).where(
    NotificationChoice.user_id.in_(bindparam("ids", expanding=True))
)
"""The statement is built once, because each end of a job executes it."""
Details = list[list[Any]]


def write_job_end_events(session: Session, jobs: Sequence[Job], now: datetime) -> None:
    """Writes events for ended jobs whose people want them. It is one statement if nobody wants any."""
    ended = [job for job in jobs if job.state in SENTENCES]
    kinds = read_kinds(session, {job.user_id for job in ended})
    rows = [row for job in ended if (row := job_end_row(job, kinds.get(job.user_id, frozenset()), now))]
    add_notification_events(session, rows)


def write_sweep_event(session: Session, sweep: Sweep, now: datetime) -> None:
    """Writes the event of a sweep whose waiting jobs end without an attempt."""
    if read_kinds(session, {sweep.user_id}).get(sweep.user_id, frozenset()) & JOB_ENDS:
        add_notification_events(session, [sweep_row(sweep.id, sweep.user_id, now)])


def read_kinds(session: Session, user_ids: Collection[int]) -> dict[int, frozenset[NotificationKind]]:
    """Returns user id → the chosen kinds, for people who chose something."""
    if not user_ids:
        return {}
    rows = session.execute(KINDS_OF_PEOPLE, {"ids": list(user_ids)})
    return {user_id: frozenset(map(NotificationKind, kinds)) for user_id, kinds in rows}


def job_end_row(job: Job, kinds: Collection[NotificationKind], now: datetime) -> dict[str, Any] | None:
    """Returns None if the person has not chosen to be told of this end."""
    if job.sweep_id is not None:
        return sweep_row(job.sweep_id, job.user_id, now) if JOB_ENDS.intersection(kinds) else None
    kind = kind_of_job_end(job.state, job.user_id, job.stopped_by)
    if kind is None or kind not in kinds:
        return None
    return {
        "user_id": job.user_id,
        "key": f"job:{job.id}",
        "kind": kind,
        "sweep_id": None,
        "data": describe_job_end(job),
        "happened_at": now,
    }


def sweep_row(sweep_id: int, user_id: int, now: datetime) -> dict[str, Any]:
    return {
        "user_id": user_id,
        "key": f"sweep:{sweep_id}",
        "kind": NotificationKind.JOB_ENDED,
        "sweep_id": sweep_id,
        "data": {},
        "happened_at": now,
    }


def describe_job_end(job: Job) -> dict[str, Any]:
    """State, duration, cause and the headline metric, as code and data."""
    begin = job.started_at or job.submitted_at
    seconds = max(0.0, (job.ended_at - begin).total_seconds()) if job.ended_at else 0.0
    details: Details = []
    if job.end_code and job.state is not JobState.FINISHED:
        details.append([job.end_code, job.end_data or {}])
    if job.headline is not None:
        headline, which = job.headline, "best" if job.headline.is_best else "last"
        data = {"metric": headline.metric, "value": headline.value, "which": which}
        details.append(["notification.headline", data])
    return {
        "code": SENTENCES[job.state],
        "data": {
            "job": job.id,
            "name": job.name,
            "seconds": round(seconds),
            "ran": job.started_at is not None or None,
        },
        "details": details,
        "path": f"/jobs/{job.id}",
    }


def write_idle_notebook_event(session: Session, job: Job, stops_at: datetime, now: datetime) -> None:
    """Writes the event that tells the person of the coming stop."""
    if NotificationKind.NOTEBOOK_IDLE not in read_kinds(session, {job.user_id}).get(job.user_id, frozenset()):
        return
    data = {"job": job.id, "training": job.training.name, "stops_at": stops_at.isoformat()}
    add_notification_events(
        session,
        [
            {
                "user_id": job.user_id,
                "key": f"notebook:{job.id}:{stops_at.isoformat()}",
                "kind": NotificationKind.NOTEBOOK_IDLE,
                "sweep_id": None,
                "data": {
                    "code": "notification.notebook_idle",
                    "data": data,
                    "details": [],
                    "path": f"/jobs/{job.id}/notebook",
                },
                "happened_at": now,
            }
        ],
    )
