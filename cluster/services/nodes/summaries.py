"""Reads nodes with their units counted by state and holder: a page of the list, those in trouble, or all."""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, Select, and_, case, func, or_, select
from sqlalchemy.orm import Session

from cluster.domain.alerts import DISK_FULL_SHARE
from cluster.domain.kubernetes.status import KubernetesStatus
from cluster.domain.kubernetes.suggested_repairs import CERTIFICATES_SOON_DAYS
from cluster.domain.people.actor import Actor
from cluster.domain.states import NodeState, UnitState
from cluster.services.context import Cluster
from cluster.services.kubernetes.status import load_kubernetes_status
from cluster.services.nodes.queries import NODES, NodeColumns, NodeSummary, UnitGroup, judge_nodes
from cluster.services.nodes.totals import NodeFilter, is_shown
from cluster.store.jobs import Attempt, Job
from cluster.store.nodes import IS_BROKEN, Allocation, Node, Unit
from cluster.store.sql.node_state import is_kept_out, is_silent, node_state_column
from cluster.store.sql.visibility import can_see_job
from cluster.store.workspaces import Workspace

NODES_WITH_BROKEN_UNITS = select(Unit.node_id).where(IS_BROKEN)
LIST_ORDER = (NodeState.LOST, NodeState.UNREACHABLE, NodeState.DRAINING, NodeState.NO_EXECUTOR)
"""The states that come first in the list. Ready nodes with broken units or kept out by Kubernetes follow, then the
other ready nodes.
"""


def list_node_summaries(cluster: Cluster) -> list[NodeSummary]:
    """Lists all nodes by name."""
    with cluster.store.read() as session:
        nodes = [NodeColumns(*row) for row in session.execute(NODES.order_by(Node.name))]
        groups = read_all_unit_groups(session)
        judged = judge_nodes(session, nodes, cluster.clock())
        return [NodeSummary(*about, groups[about[0].id]) for about in judged]


def list_troubled_nodes(cluster: Cluster) -> list[NodeSummary]:
    """Lists the nodes that have alerts, by name. It does not read the other nodes."""
    condition = is_troubled(cluster.clock())
    with cluster.store.read() as session:
        nodes = [NodeColumns(*row) for row in session.execute(NODES.where(condition).order_by(Node.name))]
        return build_summaries(session, nodes, cluster.clock(), select(Node.id).where(condition))


def is_troubled(now: datetime) -> ColumnElement[bool]:
    """The condition for a node that is silent or lost, or has a broken unit, a full disk, or a certificate that ends
    soon.
    """
    return or_(
        Node.lost_at.is_not(None),
        is_silent(now),
        Node.disk_used_share > DISK_FULL_SHARE,
        Node.certificate_ends_at < now + timedelta(days=CERTIFICATES_SOON_DAYS),
        Node.id.in_(NODES_WITH_BROKEN_UNITS),
    )


@dataclass(frozen=True)
class NodePage:
    """`next_after` is the node after which the next page begins; None on the last page."""

    nodes: list[NodeSummary]
    next_after: int | None
    colours: Mapping[int, int]
    """The colour of each job's workspace, by job, for the jobs that the reader may see."""


def list_node_page(
    cluster: Cluster, actor: Actor, node_filter: NodeFilter, after: int | None, length: int
) -> NodePage:
    """The nodes that need a person first, then by name; `after` is the last node of the page before."""
    now = cluster.clock()
    with cluster.store.read() as session:
        standing = load_kubernetes_status(session)
        rank = list_rank(standing, now)
        query = NODES.where(is_shown(node_filter, now)).order_by(rank, Node.name).limit(length + 1)
        if after is not None:
            position = session.execute(select(rank, Node.name).where(Node.id == after)).one_or_none()
            if position is not None:
                query = query.where(
                    or_(rank > position[0], and_(rank == position[0], Node.name > position[1]))
                )
        nodes = [NodeColumns(*row) for row in session.execute(query)]
        shown = nodes[:length]
        ids = [node.id for node in shown]
        summaries = build_summaries(session, shown, now, ids)
        holding = {job_id for node in summaries for job_id in node.job_ids}
        next_after = ids[-1] if len(nodes) > length else None
        return NodePage(summaries, next_after, read_job_colours(session, actor, holding))


def list_rank(standing: KubernetesStatus | None, now: datetime) -> ColumnElement[int]:
    """The place of a node's state in the list, from 0."""
    state = node_state_column(now)
    return case(
        *((state == each, place) for place, each in enumerate(LIST_ORDER)),
        (or_(Node.id.in_(NODES_WITH_BROKEN_UNITS), is_kept_out(standing, now)), len(LIST_ORDER)),
        else_=len(LIST_ORDER) + 1,
    )


def build_summaries(
    session: Session,
    nodes: Sequence[NodeColumns],
    now: datetime,
    node_ids: Sequence[int] | Select[int],
) -> list[NodeSummary]:
    """Builds the summaries of the nodes with the ids `node_ids`."""
    if not nodes:
        return []
    groups = read_unit_groups(session, node_ids)
    return [NodeSummary(*judged, groups[judged[0].id]) for judged in judge_nodes(session, nodes, now)]


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
