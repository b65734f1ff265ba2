"""Lists nodes with their units and the job that holds each unit."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, func, or_, select
from sqlalchemy.orm import Session, joinedload

from cluster.domain.alerts import DISK_FULL_SHARE
from cluster.domain.errors import NotFound
from cluster.domain.kubernetes.status import KubernetesStatus
from cluster.domain.kubernetes.suggested_repairs import CERTIFICATES_SOON_DAYS
from cluster.domain.nodes.node_state import UNREACHABLE_AFTER, NodeSignals, node_state_of
from cluster.domain.people.actor import Actor
from cluster.domain.states import NodeState, UnitKind, UnitState
from cluster.services.context import Cluster
from cluster.services.kubernetes.status import load_kubernetes_status, node_closed_reason
from cluster.services.nodes.confinement import load_confinement_features
from cluster.store.jobs import Attempt, Job
from cluster.store.nodes import IS_BROKEN, Allocation, Node, Unit
from cluster.store.sql.visibility import can_see_job


class UnitColumns(NamedTuple):
    """A unit's columns alone: there are thousands of units, and an object of the row costs more."""

    id: int
    identity: str
    position: int
    kind: UnitKind
    state: UnitState
    model: str
    memory_bytes: int | None
    simulated: bool


UNIT_COLUMNS = tuple(getattr(Unit, name) for name in UnitColumns._fields)


@dataclass(frozen=True)
class UnitView:
    """`job_id` is who holds it; `job` is None where the reader may not see that job."""

    unit: UnitColumns
    job_id: int | None
    job: Job | None

    @property
    def is_free(self) -> bool:
        return self.job_id is None and self.unit.state is UnitState.OK


@dataclass(frozen=True)
class NodeView:
    node: Node
    state: NodeState
    units: list[UnitView]
    kubernetes_problem: Mapping[str, Any] | None = None
    """Why Kubernetes starts nothing there although its agent is well, as {code, data}."""
    confinement_features: Mapping[str, Any] | None = None
    """What confines its jobs (cluster/domain/nodes/confinement.py); None: they are no processes of this node."""

    @property
    def can_take_jobs(self) -> bool:
        return self.state is NodeState.READY and self.kubernetes_problem is None

    @property
    def id(self) -> int:
        return self.node.id

    @property
    def name(self) -> str:
        return self.node.name

    @property
    def heartbeat_at(self) -> datetime | None:
        return self.node.heartbeat_at

    @property
    def facts(self) -> Mapping[str, Any]:
        return self.node.facts

    @property
    def job_ids(self) -> list[int]:
        """Who holds units there."""
        return sorted({unit.job_id for unit in self.units if unit.job_id is not None})

    @property
    def kind(self) -> UnitKind:
        """Of its first unit; a node has units of one kind."""
        return self.units[0].unit.kind if self.units else UnitKind.GPU


def list_nodes(cluster: Cluster, actor: Actor) -> list[NodeView]:
    """All nodes by name with their units; everybody sees what is taken, not by whom."""
    return load_nodes(cluster, actor)


@dataclass(frozen=True)
class NodeNameAndState:
    """A node without its units."""

    id: int
    name: str
    state: NodeState


def list_node_states(cluster: Cluster) -> list[NodeNameAndState]:
    """All nodes by name, without facts, units and holders."""
    signals = (Node.heartbeat_at, Node.has_executor, Node.draining_since, Node.lost_at, Node.booted_at)
    query = select(Node.id, Node.name, *signals).order_by(Node.name)
    now = cluster.clock()
    with cluster.store.read() as session:
        rows = session.execute(query).all()
    return [NodeNameAndState(row.id, row.name, node_state_of(NodeSignals(*row[2:]), now)) for row in rows]


def list_troubled_nodes(cluster: Cluster, actor: Actor) -> list[NodeView]:
    """Those of which there are alerts, by name; the other nodes are not read."""
    return load_nodes(cluster, actor, is_troubled(cluster.clock()))


def is_troubled(now: datetime) -> ColumnElement[bool]:
    """Silent, lost, with a broken unit, a full disk, or a certificate that ends soon."""
    return or_(
        Node.lost_at.is_not(None),
        Node.heartbeat_at.is_(None),
        Node.heartbeat_at < now - UNREACHABLE_AFTER,
        Node.disk_used_share > DISK_FULL_SHARE,
        Node.certificate_ends_at < now + timedelta(days=CERTIFICATES_SOON_DAYS),
        Node.id.in_(select(Unit.node_id).where(IS_BROKEN)),
    )


def load_nodes(
    cluster: Cluster, actor: Actor, condition: ColumnElement[bool] | None = None
) -> list[NodeView]:
    """All nodes, or those for which the condition holds."""
    now = cluster.clock()
    with cluster.store.read() as session:
        query = select(Node).options(joinedload(Node.drainer)).order_by(Node.name)
        nodes = session.scalars(query if condition is None else query.where(condition)).all()
        if not nodes:
            return []
        units = read_units_by_node(session, condition)
        holders = read_unit_holders(session, condition)
        jobs = read_visible_jobs(session, actor, set(holders.values()))
        standing = load_kubernetes_status(session)
        powers = load_confinement_features(session)
    return [
        build_node_view(node, units[node.id], now, holders, jobs, standing, powers.get(node.name))
        for node in nodes
    ]


def read_units_by_node(
    session: Session, condition: ColumnElement[bool] | None
) -> defaultdict[int, list[UnitColumns]]:
    query = select(Unit.node_id, *UNIT_COLUMNS).order_by(Unit.node_id, Unit.position)
    if condition is not None:
        query = query.where(Unit.node_id.in_(select(Node.id).where(condition)))
    units = defaultdict(list)
    for node_id, *columns in session.execute(query):
        units[node_id].append(UnitColumns(*columns))
    return units


def build_node_view(
    node: Node,
    node_units: Sequence[UnitColumns],
    now: datetime,
    holders: dict[int, int],
    jobs: dict[int, Job],
    standing: KubernetesStatus | None,
    powers: Mapping[str, Any] | None = None,
) -> NodeView:
    units = []
    for unit in node_units:
        job_id = holders.get(unit.id)
        if unit.state is not UnitState.GONE or job_id is not None:
            units.append(UnitView(unit, job_id, jobs.get(job_id) if job_id else None))
    state = node_state_of(node, now)
    return NodeView(node, state, units, node_closed_reason(standing, node.name, state), powers)


def read_unit_holders(session: Session, condition: ColumnElement[bool] | None = None) -> dict[int, int]:
    """Job id by unit id, for units that are held now on the nodes for which the condition holds."""
    query = (
        select(Allocation.unit_id, Attempt.job_id)
        .join(Attempt, Attempt.id == Allocation.attempt_id)
        .where(Allocation.ended_at.is_(None))
    )
    if condition is not None:
        nodes = select(Node.id).where(condition)
        query = query.join(Unit, Unit.id == Allocation.unit_id).where(Unit.node_id.in_(nodes))
    return {row[0]: row[1] for row in session.execute(query)}


def read_visible_jobs(session: Session, actor: Actor, job_ids: set[int]) -> dict[int, Job]:
    if not job_ids:
        return {}
    query = select(Job).where(Job.id.in_(job_ids), can_see_job(actor))
    loads = (joinedload(Job.workspace), joinedload(Job.user))
    return {job.id: job for job in session.scalars(query.options(*loads))}


def read_node(cluster: Cluster, actor: Actor, node_id: int) -> NodeView:
    """Raises NotFound."""
    for view in load_nodes(cluster, actor, Node.id == node_id):
        return view
    raise NotFound("node", node_id)


def count_working_units(cluster: Cluster) -> int:
    """Working units on nodes with an executor: what terms may hold in sum."""
    query = select(func.count(Unit.id)).join(Node).where(Unit.state == UnitState.OK, Node.has_executor)
    with cluster.store.read() as session:
        return session.scalar(query) or 0
