"""Counts the waiting jobs of each workspace and shape periodically, by index, for start estimates deep in a queue."""

from collections.abc import Collection

from sqlalchemy import delete, func, insert, select
from sqlalchemy.orm import Session

from cluster.domain.placement.deep_queue_estimate import QueuedShapeTotal
from cluster.services.context import Cluster
from cluster.services.leases import HeldLease, check_lease
from cluster.services.placement.past_durations import expected_duration, read_durations
from cluster.services.placement.queue_heads import JOBS, is_queued
from cluster.store.queue import QueueTotal


def read_queue_totals(session: Session, workspace_ids: Collection[int]) -> dict[int, list[QueuedShapeTotal]]:
    """Returns workspace id → totals of its queue."""
    columns = (QueueTotal.workspace_id, QueueTotal.units, QueueTotal.jobs, QueueTotal.seconds)
    found: dict[int, list[QueuedShapeTotal]] = {}
    for workspace_id, units, jobs, seconds in session.execute(
        select(*columns).where(QueueTotal.workspace_id.in_(workspace_ids))
    ):
        found.setdefault(workspace_id, []).append(QueuedShapeTotal(units, jobs, seconds))
    return found


def refresh_queue_totals(cluster: Cluster, held: HeldLease) -> bool:
    """Counts by the index of shapes alone, and writes only if a count has changed. Raises LeaseLost."""
    now = cluster.clock()
    with cluster.store.read() as session:
        rows = count_shapes(session)
        known = {
            (total.workspace_id, total.shape): (total.units, total.jobs, total.seconds)
            for total in session.scalars(select(QueueTotal))
        }
    found = {(row["workspace_id"], row["shape"]): (row["units"], row["jobs"], row["seconds"]) for row in rows}
    if found == known:
        return False
    with cluster.store.write() as session:
        check_lease(session, held)
        session.execute(delete(QueueTotal))
        if rows:
            session.execute(insert(QueueTotal), [{**row, "counted_at": now} for row in rows])
    return True


def count_shapes(session: Session) -> list[dict[str, object]]:
    """Counts jobs by workspace and shape. The expected duration of a shape is that of its first job."""
    query = (
        select(JOBS.c.workspace_id, JOBS.c.shape, func.count(), func.min(JOBS.c.id))
        .where(is_queued(JOBS))
        .group_by(JOBS.c.workspace_id, JOBS.c.shape)
    )
    groups = session.execute(query).all()
    firsts = {row[3] for row in groups}
    columns = (JOBS.c.id, JOBS.c.training_id, JOBS.c.units, JOBS.c.time_limit_seconds)
    samples = {row.id: row for row in session.execute(select(*columns).where(JOBS.c.id.in_(firsts)))}
    spans = read_durations(session, firsts)
    rows: list[dict[str, object]] = []
    for workspace_id, shape, count, first in groups:
        sample = samples[first]
        expected = expected_duration(spans.get((sample.training_id, sample.units)), sample.time_limit_seconds)
        rows.append(
            {
                "workspace_id": workspace_id,
                "shape": shape,
                "units": sample.units,
                "jobs": count,
                "seconds": expected.seconds,
            }
        )
    return rows
