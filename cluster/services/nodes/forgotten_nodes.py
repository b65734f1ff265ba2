"""Forgets nodes that were removed: their units, their place in the terms, their alerts and their agents' tokens."""

from sqlalchemy import select, update
from sqlalchemy.orm import Session

from cluster.domain.nodes.node_state import check_can_be_forgotten
from cluster.domain.people.actor import Actor
from cluster.domain.people.permissions import require_administrator
from cluster.domain.states import UnitState
from cluster.services.context import Cluster
from cluster.services.nodes.drains import load_node, publish_node_change
from cluster.store.audit import add_audit_entry
from cluster.store.jobs import Attempt
from cluster.store.nodes import IS_NODE_KNOWN, Allocation, Node, NodeToken, Unit


def forget_node(cluster: Cluster, actor: Actor, node_id: int, is_stopped: bool = False) -> None:
    """Removes the node from every list and from the units of terms. Past jobs keep the node's row.

    `is_stopped` says that its agent has just been stopped, so that its last heartbeat does not count.
    Raises Forbidden, NotFound, and Conflict for a node that must not be forgotten now.
    """
    require_administrator(actor)
    now = cluster.clock()
    with cluster.store.write(lock="placement") as session:
        node = load_node(session, node_id)
        is_master = node.name == cluster.settings.master_node
        check_can_be_forgotten(node.name, node, list_job_ids(session, node_id), is_master, now, is_stopped)
        clear_node(node)
        node.forgotten_at = now
        valid = (NodeToken.name == node.name) & NodeToken.revoked_at.is_(None)
        session.execute(update(NodeToken).where(valid).values(revoked_at=now))
        add_audit_entry(session, now, actor, "node.forgotten", node.id, name=node.name)
    publish_node_change(cluster, node_id)


def forget_node_by_name(cluster: Cluster, actor: Actor, name: str, is_stopped: bool = False) -> bool:
    """Does what `forget_node` does. Returns whether there is such a node."""
    with cluster.store.read() as session:
        node_id = session.scalar(select(Node.id).where(Node.name == name, IS_NODE_KNOWN))
    if node_id is None:
        return False
    forget_node(cluster, actor, node_id, is_stopped)
    return True


def list_job_ids(session: Session, node_id: int) -> list[int]:
    """The jobs that hold units there."""
    query = (
        select(Attempt.job_id)
        .join(Allocation, Allocation.attempt_id == Attempt.id)
        .join(Unit, Unit.id == Allocation.unit_id)
        .where(Unit.node_id == node_id, Allocation.ended_at.is_(None))
        .distinct()
        .order_by(Attempt.job_id)
    )
    return list(session.scalars(query))


def clear_node(node: Node) -> None:
    """Deletes what the node's agent reported and what people decided about it."""
    node.has_executor, node.heartbeat_at, node.facts, node.fabric = False, None, {}, None
    node.lost_at = node.draining_since = node.drained_by = None
    node.drain_reason = ""
    for unit in node.units:
        unit.state = UnitState.GONE
