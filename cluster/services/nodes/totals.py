"""Counts nodes by their state and units by their condition: with one statement each, whatever their number is."""

from collections import Counter
from datetime import datetime
from typing import NamedTuple

from sqlalchemy import ColumnElement, and_, case, func, not_, or_, select, true
from sqlalchemy.orm import Session

from cluster.domain.people.actor import Actor
from cluster.domain.states import NodeState, UnitState
from cluster.services.context import Cluster
from cluster.services.kubernetes.status import load_kubernetes_status
from cluster.services.nodes.queries import NodeView, list_nodes
from cluster.store.jobs import Attempt, Job
from cluster.store.nodes import IS_NODE_KNOWN, Allocation, Node, Unit
from cluster.store.sql.node_state import is_kept_out, node_state_column
from cluster.store.sql.visibility import can_see_job
from cluster.store.workspaces import Workspace


class NodeFilter(NamedTuple):
    """The filter of nodes. `name` is a part of the node's name; an empty field does not filter."""

    name: str = ""
    state: NodeState | None = None


class NodeTotal(NamedTuple):
    """Nodes in one state. `is_kept_out`: Kubernetes starts nothing on these ready nodes."""

    state: NodeState
    is_kept_out: bool
    nodes: int

    @property
    def can_take_jobs(self) -> bool:
        return self.state is NodeState.READY and not self.is_kept_out


class UnitTotal(NamedTuple):
    """Units in one state on nodes in one state; `held` of them are held by jobs."""

    node_state: NodeState
    is_kept_out: bool
    unit_state: UnitState
    units: int
    held: int

    @property
    def can_take_jobs(self) -> bool:
        return self.node_state is NodeState.READY and not self.is_kept_out


class HeldTotal(NamedTuple):
    """Units that jobs of one workspace hold; `workspace` is None if the reader may not see the jobs."""

    node_state: NodeState
    is_kept_out: bool
    unit_state: UnitState
    workspace: str | None
    colour: int | None
    units: int


class ClusterTotals(NamedTuple):
    nodes: list[NodeTotal]
    units: list[UnitTotal]
    held: list[HeldTotal]

    @property
    def node_count(self) -> int:
        return count_nodes(self.nodes)


def count_nodes(totals: list[NodeTotal]) -> int:
    return sum(total.nodes for total in totals)


def read_cluster_totals(cluster: Cluster, actor: Actor) -> ClusterTotals:
    return hide_workspaces(cluster, actor, read_totals_of_everybody(cluster))


def read_totals_of_everybody(cluster: Cluster) -> ClusterTotals:
    """Reads the totals with the workspaces of all jobs. Callers show only what `hide_workspaces` leaves of them."""
    now = cluster.clock()
    with cluster.store.read() as session:
        kept_out = is_kept_out(load_kubernetes_status(session), now)
        held = load_held_totals(session, true(), kept_out, now)
        return ClusterTotals(
            load_node_totals(session, kept_out, now, NodeFilter()),
            load_unit_totals(session, kept_out, now, held),
            held,
        )


def hide_workspaces(cluster: Cluster, actor: Actor, totals: ClusterTotals) -> ClusterTotals:
    """Returns the counts with the workspaces of those jobs alone that the reader may see."""
    if actor.is_administrator or not totals.held:
        return totals
    now = cluster.clock()
    with cluster.store.read() as session:
        kept_out = is_kept_out(load_kubernetes_status(session), now)
        return totals._replace(held=load_held_totals(session, can_see_job(actor), kept_out, now))


def read_node_map(
    cluster: Cluster, actor: Actor, most_drawn: int, everybody: ClusterTotals
) -> tuple[list[NodeView], ClusterTotals]:
    """The nodes with each of their units, none if there are more than `most_drawn`, and the totals of all."""
    if everybody.node_count > most_drawn:
        return [], hide_workspaces(cluster, actor, everybody)
    nodes = list_nodes(cluster, actor)
    return nodes, total_views(nodes)


def total_views(nodes: list[NodeView]) -> ClusterTotals:
    """Returns the totals of nodes that were read with each of their units."""
    node_totals, units = Counter[tuple[NodeState, bool]](), Counter[tuple[NodeState, bool, UnitState]]()
    held: Counter[tuple[NodeState, bool, UnitState, str | None, int | None]] = Counter()
    for node in nodes:
        about = node.state, node.kubernetes_problem is not None
        node_totals[about] += 1
        for unit in node.units:
            units[*about, unit.unit.state] += 1
            if unit.job_id is not None:
                workspace = unit.job.workspace if unit.job else None
                seen = (workspace.name, workspace.colour) if workspace else (None, None)
                held[*about, unit.unit.state, *seen] += 1
    holding = [HeldTotal(*key, count) for key, count in held.items()]
    held_units = count_held(holding)
    return ClusterTotals(
        [NodeTotal(*key, count) for key, count in node_totals.items()],
        [UnitTotal(*key, count, held_units[key]) for key, count in units.items()],
        holding,
    )


def count_held(totals: list[HeldTotal]) -> Counter[tuple[NodeState, bool, UnitState]]:
    """Counts units by the states of node and unit, whoever holds them."""
    counted = Counter[tuple[NodeState, bool, UnitState]]()
    for total in totals:
        counted[total[:3]] += total.units
    return counted


def read_node_totals(cluster: Cluster, node_filter: NodeFilter) -> list[NodeTotal]:
    now = cluster.clock()
    with cluster.store.read() as session:
        kept_out = is_kept_out(load_kubernetes_status(session), now)
        return load_node_totals(session, kept_out, now, node_filter)


def load_node_totals(
    session: Session, kept_out: ColumnElement[bool], now: datetime, node_filter: NodeFilter
) -> list[NodeTotal]:
    columns = node_state_column(now).label("node_state"), kept_out.label("is_kept_out")
    query = (
        select(*columns, func.count()).where(is_shown(node_filter, now)).group_by("node_state", "is_kept_out")
    )
    return [NodeTotal(state, bool(kept_out), nodes) for state, kept_out, nodes in session.execute(query)]


def load_held_totals(
    session: Session, is_visible: ColumnElement[bool], kept_out: ColumnElement[bool], now: datetime
) -> list[HeldTotal]:
    """`is_visible` is about jobs: units of others count without their workspace."""
    query = (
        select(
            node_state_column(now).label("node_state"),
            kept_out.label("is_kept_out"),
            Unit.state,
            Workspace.name,
            Workspace.colour,
            func.count(),
        )
        .select_from(Allocation)
        .join(Unit, Unit.id == Allocation.unit_id)
        .join(Node, Node.id == Unit.node_id)
        .join(Attempt, Attempt.id == Allocation.attempt_id)
        .outerjoin(Job, and_(Job.id == Attempt.job_id, is_visible))
        .outerjoin(Workspace, Workspace.id == Job.workspace_id)
        .where(Allocation.ended_at.is_(None))
        .group_by("node_state", "is_kept_out", Unit.state, Workspace.name, Workspace.colour)
    )
    return [HeldTotal(row[0], bool(row[1]), *row[2:]) for row in session.execute(query)]


def load_unit_totals(
    session: Session, kept_out: ColumnElement[bool], now: datetime, held: list[HeldTotal]
) -> list[UnitTotal]:
    """Units that are gone count only if they are held."""
    query = (
        select(
            node_state_column(now).label("node_state"),
            kept_out.label("is_kept_out"),
            Unit.state,
            func.count(),
        )
        .join(Node, Node.id == Unit.node_id)
        .where(Unit.state != UnitState.GONE)
        .group_by("node_state", "is_kept_out", Unit.state)
    )
    held_units = count_held(held)
    units = {(state, bool(kept_out), unit): count for state, kept_out, unit, count in session.execute(query)}
    gone = {key: count for key, count in held_units.items() if key[2] is UnitState.GONE}
    return [UnitTotal(*key, count, held_units[key]) for key, count in (units | gone).items()]


class NodeUse(NamedTuple):
    """One node and its units in numbers; units that are gone and that nobody holds are left out."""

    id: int
    name: str
    state: NodeState
    is_kept_out: bool
    units: int
    held: int
    free: int
    broken: int
    """Units that are not OK."""

    @property
    def can_take_jobs(self) -> bool:
        return self.state is NodeState.READY and not self.is_kept_out


def list_node_uses(cluster: Cluster, node_filter: NodeFilter, limit: int) -> list[NodeUse]:
    """Lists the nodes by name."""
    now = cluster.clock()

    def count_if(condition: ColumnElement[bool]) -> ColumnElement[int]:
        return func.count(case((condition, Unit.id)))

    is_held = Allocation.id.is_not(None)
    with cluster.store.read() as session:
        query = (
            select(
                Node.id,
                Node.name,
                node_state_column(now),
                is_kept_out(load_kubernetes_status(session), now),
                count_if(or_(Unit.state != UnitState.GONE, is_held)),
                func.count(Allocation.id),
                count_if(and_(Unit.state == UnitState.OK, not_(is_held))),
                count_if(or_(Unit.state == UnitState.BROKEN, and_(Unit.state == UnitState.GONE, is_held))),
            )
            .outerjoin(Unit, Unit.node_id == Node.id)
            .outerjoin(Allocation, and_(Allocation.unit_id == Unit.id, Allocation.ended_at.is_(None)))
            .where(is_shown(node_filter, now))
            .group_by(Node.id)
            .order_by(Node.name)
            .limit(limit)
        )
        rows = session.execute(query).all()
    return [NodeUse(*row[:3], bool(row[3]), *row[4:]) for row in rows]


def is_shown(node_filter: NodeFilter, now: datetime) -> ColumnElement[bool]:
    conditions: list[ColumnElement[bool]] = [IS_NODE_KNOWN]
    if node_filter.name:
        conditions.append(Node.name.icontains(node_filter.name, autoescape=True))
    if node_filter.state is not None:
        conditions.append(node_state_column(now) == node_filter.state)
    return and_(*conditions)
