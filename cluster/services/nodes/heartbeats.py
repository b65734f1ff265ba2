"""Records what a node's agent reports: its facts, its units and that it is alive."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session, selectinload

from cluster.domain.nodes.node_state import node_state_of
from cluster.domain.states import NodeState, UnitKind, UnitState
from cluster.services.context import Cluster
from cluster.store.nodes import ANY_GPU, NODE_COLUMNS, Allocation, Node, Unit


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


def record_heartbeat(
    cluster: Cluster,
    name: str,
    boot_id: str,
    facts: Mapping[str, Any],
    units: Sequence[ReportedUnit],
    has_executor: bool = True,
) -> Node:
    """Writes the node and its units. A unit that is no longer reported is `gone`, never deleted.

    Publishes only if something that pages show has changed: a heartbeat alone is no change.
    """
    now = cluster.clock()
    with cluster.store.write() as session:
        node = session.scalar(select(Node).where(Node.name == name).options(selectinload(Node.units)))
        is_news = node is None or node_state_of(node, now) is not NodeState.READY or node.boot_id != boot_id
        if node is None:
            node = Node(name=name, boot_id=boot_id, created_at=now, units=[])
            session.add(node)
        # A boot in the future was recorded by a clock that has been set since. Everything that began after it would
        # seem older.
        if node.boot_id != boot_id or (node.booted_at is not None and node.booted_at > now):
            node.boot_id, node.booted_at = boot_id, now
        node.forgotten_at = None
        node.has_executor = has_executor
        node.heartbeat_at = now
        node.facts = dict(facts)
        node.fabric = facts.get("fabric")
        is_news = record_units(node, units_of_jobs(session, node, units)) or is_news
        session.flush()
    if is_news:
        cluster.events.publish("nodes", node.id)
        cluster.events.publish("queue", 0)
    return node


def units_of_jobs(session: Session, node: Node, seen: Sequence[ReportedUnit]) -> Sequence[ReportedUnit]:
    """The units that jobs may have of this node: no CPU slots beside GPUs of other nodes.

    A job that asks for GPUs would get the slot and compute on the CPU, or wait in a pod for a GPU that is not there.
    Slots that jobs hold stay until they are free.
    """
    if not node.has_executor or any(unit.kind is not UnitKind.CPU_SLOT for unit in seen):
        return seen
    if session.scalar(ANY_GPU.where(NODE_COLUMNS.name != node.name)) is None:
        return seen
    query = select(Unit.identity).join(Allocation, Allocation.unit_id == Unit.id)
    held = set(session.scalars(query.where(Unit.node_id == node.id, Allocation.ended_at.is_(None))))
    return [unit for unit in seen if unit.identity in held]


def record_units(node: Node, seen: Sequence[ReportedUnit]) -> bool:
    """Writes the units, and returns whether a unit was added, removed or changed."""
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
