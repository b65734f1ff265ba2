"""Lists the alerts of a person: jobs that wait or failed, interrupted operations, failed datasets."""

from collections.abc import Iterator
from datetime import timedelta
from functools import partial
from typing import Any

from sqlalchemy import Select, select

from cluster.domain.alerts import (
    STUCK_WAITING_CODES,
    Alert,
    AlertDetail,
    AlertTopic,
    AlertUrgency,
)
from cluster.domain.people.actor import Actor
from cluster.domain.states import DatasetState, JobState
from cluster.services.alerts.alert_counts import MAX_PER_KIND, AlertSource, capped_count
from cluster.services.context import Cluster
from cluster.services.operations import queries
from cluster.store.datasets import Dataset
from cluster.store.jobs import IS_FAILED_UNSEEN, Job

FAILED_JOBS_FOR = timedelta(days=7)
"""A failed job that nobody has dismissed is no alert any more after this time."""


def job_sources(cluster: Cluster, actor: Actor) -> Iterator[AlertSource]:
    yield AlertSource(lambda: capped_count(stuck_jobs(actor)), partial(stuck_job_alerts, cluster, actor))
    yield AlertSource(
        lambda: capped_count(failed_jobs(cluster, actor)), partial(failed_job_alerts, cluster, actor)
    )


def operation_and_dataset_sources(cluster: Cluster, actor: Actor) -> Iterator[AlertSource]:
    yield AlertSource(
        lambda: capped_count(queries.interrupted_operations(actor)),
        partial(interrupted_operation_alerts, cluster, actor),
    )
    yield AlertSource(
        lambda: capped_count(failed_datasets(actor)), partial(failed_dataset_alerts, cluster, actor)
    )


def stuck_jobs(actor: Actor) -> Select[*tuple[Any, ...]]:
    stuck = select(Job.id, Job.waiting_code, Job.waiting_data).where(
        Job.state == JobState.WAITING, Job.waiting_code.in_(STUCK_WAITING_CODES)
    )
    return stuck if actor.is_administrator else stuck.where(Job.user_id == actor.user_id)


def stuck_job_alerts(cluster: Cluster, actor: Actor) -> Iterator[Alert]:
    """Yields alerts for waiting jobs that need an action of this person and not only time, the oldest first."""
    with cluster.store.read() as session:
        rows = session.execute(stuck_jobs(actor).order_by(Job.id).limit(MAX_PER_KIND)).all()
    for job_id, code, data in rows:
        yield Alert(
            AlertUrgency.WAITING, AlertTopic.JOB, "attention.job_stuck", job_id,
            {"job": f"job-{job_id}"}, (AlertDetail(code, data or {}),),
        )  # fmt: skip


def failed_jobs(cluster: Cluster, actor: Actor) -> Select[*tuple[Any, ...]]:
    return select(Job.id, Job.name, Job.end_code, Job.end_data, Job.ended_at).where(
        Job.user_id == actor.user_id, IS_FAILED_UNSEEN, Job.ended_at > cluster.clock() - FAILED_JOBS_FOR
    )


def failed_job_alerts(cluster: Cluster, actor: Actor) -> Iterator[Alert]:
    """Yields alerts for this person's jobs that failed and that they have not dismissed, the newest first."""
    query = failed_jobs(cluster, actor).order_by(Job.ended_at.desc(), Job.id.desc()).limit(MAX_PER_KIND)
    with cluster.store.read() as session:
        rows = session.execute(query).all()
    for job_id, name, code, data, ended_at in rows:
        details = (AlertDetail(code, data or {}),) if code else ()
        yield Alert(
            AlertUrgency.FAILED, AlertTopic.JOB, "attention.job_failed", job_id,
            {"job": f"job-{job_id}", "name": name, "at": ended_at.isoformat()}, details,
        )  # fmt: skip


def interrupted_operation_alerts(cluster: Cluster, actor: Actor) -> Iterator[Alert]:
    """Yields alerts for interrupted operations that this person may retry."""
    for operation in queries.list_interrupted_operations(cluster, actor, MAX_PER_KIND):
        details = (AlertDetail(operation.error_code or "operation.broken", operation.error_data or {}),)
        yield Alert(
            AlertUrgency.INTERRUPTED, AlertTopic.OPERATION, "attention.operation_given_up", operation.id,
            {"operation": operation.kind}, details,
        )  # fmt: skip


def failed_datasets(actor: Actor) -> Select[*tuple[Any, ...]]:
    return select(Dataset.id, Dataset.name, Dataset.error_code, Dataset.error_data).where(
        Dataset.state == DatasetState.FAILED,
        Dataset.created_by == actor.user_id,
        Dataset.deleted_at.is_(None),
        Dataset.failure_dismissed_at.is_(None),
    )


def failed_dataset_alerts(cluster: Cluster, actor: Actor) -> Iterator[Alert]:
    """Yields alerts for this person's datasets whose import failed, the newest first."""
    query = failed_datasets(actor).order_by(Dataset.id.desc()).limit(MAX_PER_KIND)
    with cluster.store.read() as session:
        rows = session.execute(query).all()
    for dataset_id, name, code, data in rows:
        why = (AlertDetail(code, data or {}),) if code else ()
        yield Alert(
            AlertUrgency.FAILED,
            AlertTopic.DATASET,
            "attention.dataset_failed",
            dataset_id,
            {"name": name},
            why,
        )
