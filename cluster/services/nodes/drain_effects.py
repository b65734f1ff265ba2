"""Reads which jobs a drain of a node affects. Nothing is changed."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import func, select
from sqlalchemy.orm import Session, joinedload

from cluster.domain.people.actor import Actor
from cluster.domain.states import UnitState
from cluster.services.context import Cluster
from cluster.services.nodes.drains import load_node
from cluster.services.placement.capacity import read_running_on_nodes
from cluster.services.placement.queue_heads import WORKSPACES, read_heads_by_shape
from cluster.store.jobs import Attempt, Job
from cluster.store.nodes import Allocation, Node, Unit
from cluster.store.sql.visibility import can_see_job

MAX_SHOWN = 100


@dataclass(frozen=True)
class JobOnNode:
    """A job of the node. `job` is None if the reader may not see it; `ends_at` is None if nobody knows."""

    job_id: int
    job: Job | None
    units: int
    """The number of units that it holds on this node."""
    ends_at: datetime | None


@dataclass(frozen=True)
class DrainEffect:
    """The jobs that a drain affects: running ones end by themselves, waiting ones that fit on no other node keep
    waiting."""

    running: Sequence[JobOnNode]
    too_large: Sequence[int]
    """Waiting jobs, at most a hundred, that this node could take and no other one, even when it is empty."""
    largest_elsewhere: int
    """The number of working units of the largest other node."""


def read_drain_effect(cluster: Cluster, actor: Actor, node_id: int) -> DrainEffect:
    """Raises NotFound. Changes nothing."""
    now = cluster.clock()
    with cluster.store.read() as session:
        load_node(session, node_id)
        here, elsewhere = count_units_of_node(session, node_id), largest_other_node(session, node_id)
        waiting = find_jobs_too_large(session, elsewhere, here)
        return DrainEffect(list_jobs_on_node(session, actor, node_id, now), waiting, elsewhere)


def list_jobs_on_node(session: Session, actor: Actor, node_id: int, now: datetime) -> list[JobOnNode]:
    count = func.count(Allocation.id)
    held = session.execute(
        select(Attempt.job_id, count)
        .join(Allocation, Allocation.attempt_id == Attempt.id)
        .join(Unit, Unit.id == Allocation.unit_id)
        .where(Unit.node_id == node_id, Allocation.ended_at.is_(None))
        .group_by(Attempt.job_id)
        .order_by(Attempt.job_id)
    ).all()
    loads = (joinedload(Job.workspace), joinedload(Job.user))
    visible = select(Job).where(Job.id.in_([row[0] for row in held]), can_see_job(actor)).options(*loads)
    jobs = {job.id: job for job in session.scalars(visible)}
    ends = {run.job_id: run.ends_at for run in read_running_on_nodes(session, now)}
    return [JobOnNode(job_id, jobs.get(job_id), units, ends.get(job_id)) for job_id, units in held]


def largest_other_node(session: Session, node_id: int) -> int:
    """Returns the most working units of another node. Nodes that are drained or lost as well do not count, because
    they take no job.
    """
    count = func.count(Unit.id)
    query = (
        select(count)
        .join(Node, Node.id == Unit.node_id)
        .where(
            Node.id != node_id,
            Node.has_executor,
            Node.draining_since.is_(None),
            Node.lost_at.is_(None),
            Unit.state == UnitState.OK,
        )
        .group_by(Node.id)
        .order_by(count.desc())
        .limit(1)
    )
    return session.scalar(query) or 0


def count_units_of_node(session: Session, node_id: int) -> int:
    query = select(func.count(Unit.id)).where(Unit.node_id == node_id, Unit.state == UnitState.OK)
    return session.scalar(query) or 0


def find_jobs_too_large(session: Session, elsewhere: int, here: int) -> list[int]:
    """Finds jobs by the index of shapes, which begin with their units; held jobs are left out."""
    if here <= elsewhere:
        return []
    lines = session.scalars(select(WORKSPACES.c.id)).all()
    found = read_heads_by_shape(session, lines, MAX_SHOWN, here, MAX_SHOWN, smallest=elsewhere + 1)
    return sorted(job.id for job in found)[:MAX_SHOWN]
