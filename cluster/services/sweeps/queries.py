"""Reads sweeps and the results of their jobs for pages and REST, as far as the person may see them."""

from sqlalchemy import ColumnElement, func, select, true
from sqlalchemy.orm import Session, joinedload

from cluster.domain.errors import NotFound
from cluster.domain.people.actor import Actor
from cluster.domain.states import JobState
from cluster.domain.sweeps.comparison import SweepJobResult
from cluster.services.context import Cluster
from cluster.store.jobs import Job, Sweep, headline_of
from cluster.store.sql.visibility import can_see_training
from cluster.store.trainings import Training
from cluster.store.workspaces import Workspace

SWEEP_LOADS = (
    joinedload(Sweep.workspace).joinedload(Workspace.manager),
    joinedload(Sweep.training).joinedload(Training.owner),
    joinedload(Sweep.training).selectinload(Training.members),
    joinedload(Sweep.training).joinedload(Training.workspace).selectinload(Workspace.members),
    joinedload(Sweep.user),
)


HEADLINE_COLUMNS = (Job.headline_metric, Job.headline_value, Job.headline_is_best, Job.headline_score)


def read_sweep_results(cluster: Cluster, session: Session, sweep_id: int) -> list[SweepJobResult]:
    """Reads the results in the order of the sweep's list, live jobs without their current measurements."""
    now = cluster.clock()
    query = select(
        Job.sweep_number,
        Job.id,
        Job.state,
        Job.results,
        Job.started_at,
        Job.ended_at,
        Job.fence,
        Job.name,
        Job.end_data,
        *HEADLINE_COLUMNS,
    ).where(Job.sweep_id == sweep_id)
    found = [
        SweepJobResult(
            row.sweep_number or 0,
            row.id,
            row.state,
            {name: (low, high, last) for name, (low, high, last) in (row.results or {}).items()},
            ((row.ended_at or now) - row.started_at).total_seconds() if row.started_at else None,
            row.fence,
            row.name,
            headline_of(*row[-4:]),
            bool((row.end_data or {}).get("not_finite")),
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
    """Lists the sweeps newest first, one keyset page: those below `before_id`."""
    query = select(Sweep).where(can_see_sweep(actor)).options(*SWEEP_LOADS)
    for column, value in ((Sweep.workspace_id, workspace_id), (Sweep.training_id, training_id)):
        if value is not None:
            query = query.where(column == value)
    if before_id is not None:
        query = query.where(Sweep.id < before_id)
    with cluster.store.read() as session:
        return list(session.scalars(query.order_by(Sweep.id.desc()).limit(limit)))


def can_see_sweep(actor: Actor) -> ColumnElement[bool]:
    """A person who may see the training may see the sweep."""
    if actor.is_administrator:
        return true()
    return Sweep.training_id.in_(select(Training.id).where(can_see_training(actor)))


def load_sweep(session: Session, actor: Actor, sweep_id: int) -> Sweep:
    """Raises NotFound if the person may not see it."""
    sweep = session.scalar(
        select(Sweep).where(Sweep.id == sweep_id, can_see_sweep(actor)).options(*SWEEP_LOADS)
    )
    if sweep is None:
        raise NotFound("sweep", sweep_id)
    return sweep


def read_sweep(cluster: Cluster, actor: Actor, sweep_id: int) -> Sweep:
    with cluster.store.read() as session:
        return load_sweep(session, actor, sweep_id)


def count_job_states(session: Session, sweep_id: int) -> dict[JobState, int]:
    """Counts the jobs of the sweep in each state. It reads an index alone."""
    query = select(Job.state, func.count()).where(Job.sweep_id == sweep_id).group_by(Job.state)
    return {row[0]: row[1] for row in session.execute(query)}
