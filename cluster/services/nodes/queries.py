"""Lists nodes with their units and the job that holds each unit."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import func, select
from sqlalchemy.orm import Session, joinedload, selectinload

from cluster.domain.errors import NotFound
from cluster.domain.kubernetes.status import KubernetesStatus
from cluster.domain.nodes.node_state import node_state_of
from cluster.domain.people.actor import Actor
from cluster.domain.states import NodeState, UnitKind, UnitState
from cluster.services.context import Cluster
from cluster.services.kubernetes.status import load_kubernetes_status, node_closed_reason
from cluster.services.nodes.confinement import load_confinement_features
from cluster.services.nodes.drains import DrainEffect, drain_node, read_drain_effect, undrain_node
from cluster.store.jobs import Attempt, Job
from cluster.store.nodes import Allocation, Node, Unit
from cluster.store.sql.visibility import can_see_job

__all__ = [
    "DrainEffect",
    "NodeView",
    "ReportedUnit",
    "UnitView",
    "read_drain_effect",
    "count_working_units",
    "drain_node",
    "read_node",
    "record_heartbeat",
    "undrain_node",
    "list_nodes",
]


@dataclass(frozen=True)
class ReportedUnit:
    """A unit as an agent sees it. `identity` is the GPU's UUID, or cpu-0, cpu-1 …; memory in bytes."""

    identity: str
    kind: UnitKind
    position: int
    model: str = ""
    memory_bytes: int | None = None
    state: UnitState = UnitState.OK
    simulated: bool = False
    island: str | None = None


@dataclass(frozen=True)
class UnitView:
    """`job_id` is who holds it; `job` is None where the reader may not see that job."""

    unit: Unit
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


def record_heartbeat(
    cluster: Cluster,
    name: str,
    boot_id: str,
    facts: Mapping[str, Any],
    units: Sequence[ReportedUnit],
    has_executor: bool = True,
) -> Node:
    """The node and its units as they are now; a unit that is no longer seen is `gone`, never deleted.

    Rings only when something that pages show has changed: a heartbeat alone is no news.
    """
    now = cluster.clock()
    with cluster.store.write() as session:
        node = session.scalar(select(Node).where(Node.name == name).options(selectinload(Node.units)))
        is_news = node is None or node_state_of(node, now) is not NodeState.READY or node.boot_id != boot_id
        if node is None:
            node = Node(name=name, boot_id=boot_id, created_at=now, units=[])
            session.add(node)
        # A boot in the future was seen by a clock that has been set since: whatever began after it would seem older.
        if node.boot_id != boot_id or (node.booted_at is not None and node.booted_at > now):
            node.boot_id, node.booted_at = boot_id, now
        node.has_executor = has_executor
        node.heartbeat_at = now
        node.facts = dict(facts)
        node.fabric = facts.get("fabric")
        is_news = record_units(node, units) or is_news
        session.flush()
    if is_news:
        cluster.events.publish("nodes", node.id)
        cluster.events.publish("queue", 0)
    return node


def record_units(node: Node, seen: Sequence[ReportedUnit]) -> bool:
    """Whether a unit came, went or changed."""
    known = {unit.identity: unit for unit in node.units}
    changed = False
    for one in seen:
        unit = known.pop(one.identity, None)
        if unit is None:
            unit = Unit(identity=one.identity, kind=one.kind)
            node.units.append(unit)
            changed = True
        changed = changed or unit.state is not one.state
        unit.kind, unit.position, unit.model = one.kind, one.position, one.model
        unit.memory_bytes, unit.state, unit.simulated = one.memory_bytes, one.state, one.simulated
        unit.island = one.island
    for unit in known.values():
        changed = changed or unit.state is not UnitState.GONE
        unit.state = UnitState.GONE
    return changed


NODE_LOADS = (selectinload(Node.units), joinedload(Node.drainer))


def list_nodes(cluster: Cluster, actor: Actor) -> list[NodeView]:
    """All nodes by name with their units; everybody sees what is taken, not by whom."""
    now = cluster.clock()
    with cluster.store.read() as session:
        nodes = session.scalars(select(Node).options(*NODE_LOADS).order_by(Node.name)).all()
        holders = read_unit_holders(session)
        jobs = read_visible_jobs(session, actor, set(holders.values()))
        standing = load_kubernetes_status(session)
        powers = {node.name: load_confinement_features(session, node.name) for node in nodes}
    return [build_node_view(node, now, holders, jobs, standing, powers[node.name]) for node in nodes]


def build_node_view(
    node: Node,
    now: datetime,
    holders: dict[int, int],
    jobs: dict[int, Job],
    standing: KubernetesStatus | None,
    powers: Mapping[str, Any] | None = None,
) -> NodeView:
    units = []
    for unit in node.units:
        job_id = holders.get(unit.id)
        if unit.state is not UnitState.GONE or job_id is not None:
            units.append(UnitView(unit, job_id, jobs.get(job_id) if job_id else None))
    state = node_state_of(node, now)
    return NodeView(node, state, units, node_closed_reason(standing, node.name, state), powers)


def read_unit_holders(session: Session) -> dict[int, int]:
    """Job id by unit id, for units that are held now."""
    query = (
        select(Allocation.unit_id, Attempt.job_id)
        .join(Attempt, Attempt.id == Allocation.attempt_id)
        .where(Allocation.ended_at.is_(None))
    )
    return {row[0]: row[1] for row in session.execute(query)}


def read_visible_jobs(session: Session, actor: Actor, job_ids: set[int]) -> dict[int, Job]:
    query = select(Job).where(Job.id.in_(job_ids), can_see_job(actor))
    loads = (joinedload(Job.workspace), joinedload(Job.user))
    return {job.id: job for job in session.scalars(query.options(*loads))}


def read_node(cluster: Cluster, actor: Actor, node_id: int) -> NodeView:
    for view in list_nodes(cluster, actor):
        if view.id == node_id:
            return view
    raise NotFound("node", node_id)


def count_working_units(cluster: Cluster) -> int:
    """Working units on nodes with an executor: what terms may hold in sum."""
    query = select(func.count(Unit.id)).join(Node).where(Unit.state == UnitState.OK, Node.has_executor)
    with cluster.store.read() as session:
        return session.scalar(query) or 0
