"""Reads the jobs of a sweep for the comparison: at most 10,000 narrow rows, by index."""

from sqlalchemy import select
from sqlalchemy.orm import Session

from cluster.domain.people.actor import Actor
from cluster.domain.sweeps.comparison import SweepJobResult
from cluster.services.context import Cluster
from cluster.services.sweeps.submission import SWEEP_LOADS, can_see_sweep
from cluster.store.jobs import Job, Sweep


def read_sweep_results(cluster: Cluster, session: Session, sweep_id: int) -> list[SweepJobResult]:
    """In the order of the sweep's list; living ones without what they measure now."""
    now = cluster.clock()
    query = select(
        Job.sweep_number, Job.id, Job.state, Job.results, Job.started_at, Job.ended_at, Job.fence
    ).where(Job.sweep_id == sweep_id)
    found = [
        SweepJobResult(
            row.sweep_number or 0,
            row.id,
            row.state,
            {name: (low, high, last) for name, (low, high, last) in (row.results or {}).items()},
            ((row.ended_at or now) - row.started_at).total_seconds() if row.started_at else None,
            row.fence,
        )
        for row in session.execute(query)
    ]
    return sorted(found, key=lambda entry: entry.number)


def list_sweeps(
    cluster: Cluster,
    actor: Actor,
    workspace_id: int | None = None,
    training_id: int | None = None,
    before_id: int | None = None,
    limit: int = 50,
) -> list[Sweep]:
    """Newest first, one keyset page: those below `before_id`."""
    query = select(Sweep).where(can_see_sweep(actor)).options(*SWEEP_LOADS)
    for column, value in ((Sweep.workspace_id, workspace_id), (Sweep.training_id, training_id)):
        if value is not None:
            query = query.where(column == value)
    if before_id is not None:
        query = query.where(Sweep.id < before_id)
    with cluster.store.read() as session:
        return list(session.scalars(query.order_by(Sweep.id.desc()).limit(limit)))
