"""Groups the units of nodes by their state and the job that holds them, and reads the colours of those jobs."""

from collections import defaultdict
from collections.abc import Collection, Sequence
from typing import Any

from sqlalchemy import Select, and_, func, or_, select
from sqlalchemy.orm import Session

from cluster.domain.people.actor import Actor
from cluster.domain.states import UnitState
from cluster.services.nodes.queries import UnitGroup
from cluster.store.jobs import Attempt, Job
from cluster.store.nodes import Allocation, Unit
from cluster.store.sql.visibility import can_see_job
from cluster.store.workspaces import Workspace


def read_unit_groups(
    session: Session, node_ids: Sequence[int] | Select[int]
) -> defaultdict[int, list[UnitGroup]]:
    """Returns node id → its groups in the order of their first units. Units that are gone and that nobody holds are
    left out.
    """
    columns = (Unit.node_id, Unit.state, Unit.kind, Unit.model, Unit.simulated, Attempt.job_id)
    query: Select[*tuple[Any, ...]] = (
        select(*columns, func.count())
        .select_from(Unit)
        .outerjoin(Allocation, and_(Allocation.unit_id == Unit.id, Allocation.ended_at.is_(None)))
        .outerjoin(Attempt, Attempt.id == Allocation.attempt_id)
        .where(or_(Unit.state != UnitState.GONE, Allocation.id.is_not(None)), Unit.node_id.in_(node_ids))
        .group_by(*columns)
        .order_by(Unit.node_id, func.min(Unit.position))
    )
    groups = defaultdict(list)
    for node_id, *group in session.execute(query):
        groups[node_id].append(UnitGroup(*group))
    return groups


def read_all_unit_groups(session: Session) -> defaultdict[int, list[UnitGroup]]:
    """Returns node id → its groups, for all nodes.

    It subtracts the held units from all units instead of finding the holder of each of thousands of units. Among
    equal units of a node, held ones come first.
    """
    alike = (Unit.node_id, Unit.state, Unit.kind, Unit.model, Unit.simulated)
    held: Select[*tuple[Any, ...]] = (
        select(*alike, Attempt.job_id, func.count())
        .select_from(Allocation)
        .join(Unit, Unit.id == Allocation.unit_id)
        .join(Attempt, Attempt.id == Allocation.attempt_id)
        .where(Allocation.ended_at.is_(None))
        .group_by(*alike, Attempt.job_id)
        .order_by(func.min(Unit.position))
    )
    every: Select[*tuple[Any, ...]] = (
        select(*alike, func.count()).group_by(*alike).order_by(Unit.node_id, func.min(Unit.position))
    )
    holders: defaultdict[tuple[Any, ...], list[UnitGroup]] = defaultdict(list)
    for node_id, *group in session.execute(held):
        holders[node_id, *group[:4]].append(UnitGroup(*group))
    groups: defaultdict[int, list[UnitGroup]] = defaultdict(list)
    for node_id, *kind, units in session.execute(every):
        mine = holders[node_id, *kind]
        groups[node_id] += mine
        free = units - sum(group.units for group in mine)
        if free and kind[0] is not UnitState.GONE:
            groups[node_id].append(UnitGroup._make((*kind, None, free)))
    return groups


def read_job_colours(session: Session, actor: Actor, job_ids: Collection[int]) -> dict[int, int]:
    if not job_ids:
        return {}
    query = select(Job.id, Workspace.colour).join(Workspace).where(Job.id.in_(job_ids), can_see_job(actor))
    return {row[0]: row[1] for row in session.execute(query)}
