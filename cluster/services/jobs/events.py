"""Adds lines to the history of jobs, and publishes that jobs have changed."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from sqlalchemy import Select, insert, literal
from sqlalchemy.orm import Session

from cluster.domain.states import JobState
from cluster.services.context import Cluster
from cluster.store.base import table_of
from cluster.store.jobs import Job, JobEvent

ADD_EVENTS = insert(table_of(JobEvent))
"""The statement is built once and does not use the mapper, because it is executed several times for every job."""


def add_job_event(
    session: Session, job: Job, now: datetime, state: JobState, code: str, data: Mapping[str, Any]
) -> None:
    session.add(JobEvent(job_id=job.id, at=now, state=state.value, code=code, data=dict(data)))


def publish_jobs(cluster: Cluster, *job_ids: int) -> None:
    if job_ids:
        cluster.events.publish_all(*(("jobs", job_id) for job_id in job_ids), ("queue", 0))


def add_job_events(
    session: Session, now: datetime, state: JobState, lines: Iterable[tuple[int, str, dict[str, Any]]]
) -> None:
    """Adds one line of history per job."""
    rows = [
        {"job_id": job_id, "at": now, "state": state.value, "code": code, "data": data}
        for job_id, code, data in lines
    ]
    if rows:
        session.execute(ADD_EVENTS, rows)


def add_job_events_by_query(
    session: Session,
    job_ids: Select[int],
    now: datetime,
    state: JobState,
    code: str,
    data: dict[str, Any] | None = None,
) -> None:
    """Adds one line of history for each selected job in one statement, without loading the jobs."""
    (column,) = job_ids.selected_columns
    said = literal(data or {}, JobEvent.data.type)
    line = job_ids.with_only_columns(
        column, literal(now, JobEvent.at.type), literal(state.value), literal(code), said
    )
    session.execute(insert(JobEvent).from_select(["job_id", "at", "state", "code", "data"], line))


def publish_all_jobs(cluster: Cluster) -> None:
    """Publishes one event for all jobs; subscribers read the rows."""
    cluster.events.publish("queue", 0)
    cluster.events.publish("jobs", 0)
