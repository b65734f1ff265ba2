"""Dismisses alerts about failures that are over: the person has seen them and wants to hear no more of them."""

from typing import Any

from sqlalchemy import CursorResult, update

from cluster.domain.people.actor import Actor
from cluster.domain.people.permissions import require_scope
from cluster.domain.states import DatasetState
from cluster.services.context import Cluster
from cluster.store.datasets import Dataset
from cluster.store.jobs import IS_FAILED_UNSEEN, Job


def dismiss_failed_jobs(cluster: Cluster, actor: Actor, job_id: int | None = None) -> int:
    """Dismisses one failed job of this person, or all of them. Returns how many were dismissed. Jobs of others stay as
    they are, and the call may be repeated.
    """
    require_scope(actor, "write")
    query = update(Job).where(Job.user_id == actor.user_id, IS_FAILED_UNSEEN)
    query = query if job_id is None else query.where(Job.id == job_id)
    return dismiss(cluster, "jobs", job_id, query.values(failure_dismissed_at=cluster.clock()))


def dismiss_failed_datasets(cluster: Cluster, actor: Actor, dataset_id: int | None = None) -> int:
    """Dismisses the failures of datasets that this person has made, all or one. Returns how many."""
    require_scope(actor, "write")
    query = update(Dataset).where(
        Dataset.created_by == actor.user_id,
        Dataset.state == DatasetState.FAILED,
        Dataset.failure_dismissed_at.is_(None),
    )
    query = query if dataset_id is None else query.where(Dataset.id == dataset_id)
    return dismiss(cluster, "datasets", dataset_id, query.values(failure_dismissed_at=cluster.clock()))


def dismiss(cluster: Cluster, topic: str, subject: int | None, query: Any) -> int:
    with cluster.store.write() as session:
        changed = session.execute(query.execution_options(synchronize_session=False))
        assert isinstance(changed, CursorResult)
    if changed.rowcount:
        cluster.events.publish(topic, subject or 0)
    return changed.rowcount
