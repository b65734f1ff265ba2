"""Reads nodes with their units and the job that holds each unit."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Select, func, select
from sqlalchemy.orm import Session, joinedload

from cluster.domain.errors import NotFound
from cluster.domain.nodes.gpu_load import GpuLoad, parse_gpu_loads
from cluster.domain.nodes.node_state import NodeSignals, node_state_of
from cluster.domain.people.actor import Actor
from cluster.domain.states import NodeState, UnitKind, UnitState
from cluster.services.context import Cluster
from cluster.services.kubernetes.status import load_kubernetes_status, node_closed_reason
from cluster.services.nodes.confinement import load_confinement_features
from cluster.store.jobs import Attempt, Job
from cluster.store.nodes import IS_NODE_KNOWN, Allocation, Node, Unit
from cluster.store.sql.visibility import can_see_job
from cluster.store.users import User


class NodeColumns(NamedTuple):
    """A node as its columns alone, because an object of the row costs more."""

    id: int
    name: str
    heartbeat_at: datetime | None
    has_executor: bool
    draining_since: datetime | None
    lost_at: datetime | None
    booted_at: datetime | None
    facts: Mapping[str, Any]
    drain_reason: str
    created_at: datetime
    drainer: str | None
    """The name of the administrator who drained it."""


NODES: Select[*tuple[Any, ...]] = (
    select(*(getattr(Node, name) for name in NodeColumns._fields[:-1]), User.name.label("drainer"))
    .outerjoin(User, User.id == Node.drained_by)
    .where(IS_NODE_KNOWN)
)


class UnitColumns(NamedTuple):
    """A unit as its columns alone, because there are thousands of units."""

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
    """One unit. `job_id` is its holder; `job` is None if the reader may not see that job."""

    unit: UnitColumns
    job_id: int | None
    job: Job | None

    @property
    def is_free(self) -> bool:
        return self.job_id is None and self.unit.state is UnitState.OK


class UnitGroup(NamedTuple):
    """Units of one node that have the same kind and state and the same holder, or none."""

    state: UnitState
    kind: UnitKind
    model: str
    simulated: bool
    job_id: int | None
    units: int

    @property
    def is_free(self) -> bool:
        return self.job_id is None and self.state is UnitState.OK


@dataclass(frozen=True)
class NodeSummary:
    """A node with its units in groups, in the order of their positions."""

    node: NodeColumns
    state: NodeState
    kubernetes_problem: Mapping[str, Any] | None
    """The reason why Kubernetes starts nothing on the node although its agent is well, as {code, data}."""
    confinement_features: Mapping[str, Any] | None
    """The features that confine its jobs (cluster/domain/nodes/confinement.py); None if jobs are not processes of
    this node.
    """
    groups: Sequence[UnitGroup]

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
        """The jobs that hold units of the node."""
        return sorted({group.job_id for group in self.groups if group.job_id is not None})

    @property
    def kind(self) -> UnitKind:
        """The kind of its first unit; a node has units of one kind."""
        return self.groups[0].kind if self.groups else UnitKind.GPU

    @property
    def model(self) -> str:
        """The model of its first unit; empty if units have none."""
        return self.groups[0].model if self.groups else ""

    @cached_property
    def unit_count(self) -> int:
        return sum(group.units for group in self.groups)

    @cached_property
    def held_count(self) -> int:
        return sum(group.units for group in self.groups if group.job_id is not None)

    @cached_property
    def free_count(self) -> int:
        return sum(group.units for group in self.groups if group.is_free)

    @cached_property
    def broken_count(self) -> int:
        """Units that are not OK."""
        return sum(group.units for group in self.groups if group.state is not UnitState.OK)

    @property
    def is_simulated(self) -> bool:
        return any(group.simulated for group in self.groups)


@dataclass(frozen=True)
class NodeView(NodeSummary):
    """A node with each of its units."""

    units: Sequence[UnitView]

    @cached_property
    def gpu_loads(self) -> Mapping[str, GpuLoad]:
        """The newest loads by the GPU's UUID; none of a node that does not answer."""
        is_silent = self.state in (NodeState.UNREACHABLE, NodeState.LOST)
        return {} if is_silent else parse_gpu_loads(self.facts)


def list_nodes(cluster: Cluster, actor: Actor) -> list[NodeView]:
    """Lists all nodes by name with each of their units. Everybody sees which units are taken, but not by whom."""
    return read_node_views(cluster, actor)


def read_node(cluster: Cluster, actor: Actor, node_id: int) -> NodeView:
    """Raises NotFound."""
    for view in read_node_views(cluster, actor, Node.id == node_id):
        return view
    raise NotFound("node", node_id)


def read_node_views(
    cluster: Cluster, actor: Actor, condition: ColumnElement[bool] | None = None
) -> list[NodeView]:
    """Reads all nodes, or those for which the condition holds."""
    query = NODES.order_by(Node.name)
    with cluster.store.read() as session:
        nodes = session.execute(query if condition is None else query.where(condition)).all()
        if not nodes:
            return []
        units = read_units_by_node(session, condition)
        holders = read_unit_holders(session, condition)
        jobs = read_visible_jobs(session, actor, set(holders.values()))
        judged = judge_nodes(session, [NodeColumns(*row) for row in nodes], cluster.clock())
    return [build_node_view(*about, list(unit_views(units[about[0].id], holders, jobs))) for about in judged]


JudgedNode = tuple[NodeColumns, NodeState, Mapping[str, Any] | None, Mapping[str, Any] | None]
"""The columns of the first four fields of a NodeSummary."""


def judge_nodes(session: Session, nodes: Iterable[NodeColumns], now: datetime) -> list[JudgedNode]:
    standing = load_kubernetes_status(session)
    features = load_confinement_features(session)
    return [
        (node, state, node_closed_reason(standing, node.name, state), features.get(node.name))
        for node in nodes
        for state in [node_state_of(node, now)]
    ]


def build_node_view(
    node: NodeColumns,
    state: NodeState,
    kubernetes_problem: Mapping[str, Any] | None,
    confinement_features: Mapping[str, Any] | None,
    units: Sequence[UnitView],
) -> NodeView:
    groups = [
        UnitGroup(
            unit.unit.state,
            unit.unit.kind,
            unit.unit.model,
            unit.unit.simulated,
            unit.job_id,
            1,
        )
        for unit in units
    ]
    return NodeView(node, state, kubernetes_problem, confinement_features, groups, units)


def unit_views(
    units: Iterable[UnitColumns], holders: Mapping[int, int], jobs: Mapping[int, Job]
) -> Iterator[UnitView]:
    """Leaves out units that are gone and that nobody holds."""
    for unit in units:
        job_id = holders.get(unit.id)
        if unit.state is not UnitState.GONE or job_id is not None:
            yield UnitView(unit, job_id, jobs.get(job_id) if job_id else None)


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


@dataclass(frozen=True)
class NodeNameAndState:
    """A node without its units."""

    id: int
    name: str
    state: NodeState


def list_node_states(cluster: Cluster) -> list[NodeNameAndState]:
    """Lists all nodes by name, without facts, units and holders."""
    signals = (Node.heartbeat_at, Node.has_executor, Node.draining_since, Node.lost_at, Node.booted_at)
    query = select(Node.id, Node.name, *signals).where(IS_NODE_KNOWN).order_by(Node.name)
    now = cluster.clock()
    with cluster.store.read() as session:
        rows = session.execute(query).all()
    return [NodeNameAndState(row.id, row.name, node_state_of(NodeSignals(*row[2:]), now)) for row in rows]


def find_node_ids(cluster: Cluster, names: Collection[str]) -> dict[str, int]:
    """Returns name in lower case, as Kubernetes writes it → id. Names that no node has are left out."""
    if not names:
        return {}
    lower_name = func.lower(Node.name)
    with cluster.store.read() as session:
        rows = session.execute(select(lower_name, Node.id).where(lower_name.in_(names), IS_NODE_KNOWN))
        return {row[0]: row[1] for row in rows}


def count_working_units(cluster: Cluster) -> int:
    """Counts the working units on nodes with an executor, which limit the sum of terms."""
    query = select(func.count(Unit.id)).join(Node).where(Unit.state == UnitState.OK, Node.has_executor)
    with cluster.store.read() as session:
        return session.scalar(query) or 0
