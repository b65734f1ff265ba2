"""Drains and undrains nodes."""

from sqlalchemy.orm import Session

from cluster.domain.errors import Conflict, NotFound
from cluster.domain.nodes.node_state import check_drain_reason
from cluster.domain.people.actor import Actor
from cluster.domain.people.permissions import require_administrator
from cluster.services.context import Cluster
from cluster.store.audit import add_audit_entry
from cluster.store.nodes import Node


def drain_node(cluster: Cluster, actor: Actor, node_id: int, reason: str) -> Node:
    """Drains the node; a second call only changes the reason. Raises Refused, Forbidden, NotFound."""
    require_administrator(actor)
    now = cluster.clock()
    with cluster.store.write(lock="placement") as session:
        node = load_node(session, node_id)
        reason = check_drain_reason(reason)
        node.draining_since = node.draining_since or now
        node.drained_by, node.drain_reason = actor.user_id or None, reason
        add_audit_entry(session, now, actor, "node.drained", node.id, name=node.name, reason=reason)
    publish_node_change(cluster, node_id)
    return node


def undrain_node(cluster: Cluster, actor: Actor, node_id: int) -> Node:
    """Raises Conflict if it is not being drained, Forbidden, NotFound."""
    require_administrator(actor)
    now = cluster.clock()
    with cluster.store.write(lock="placement") as session:
        node = load_node(session, node_id)
        if node.draining_since is None:
            raise Conflict("node.not_draining", node=node.name)
        add_audit_entry(
            session, now, actor, "node.undrained", node.id, name=node.name, reason=node.drain_reason
        )
        node.draining_since = node.drained_by = None
        node.drain_reason = ""
    publish_node_change(cluster, node_id)
    return node


def load_node(session: Session, node_id: int) -> Node:
    node = session.get(Node, node_id)
    if node is None or node.forgotten_at is not None:
        raise NotFound("node", node_id)
    return node


def publish_node_change(cluster: Cluster, node_id: int) -> None:
    cluster.events.publish("nodes", node_id)
    cluster.events.publish("queue", 0)
