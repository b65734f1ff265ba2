"""Marks nodes lost after their grace time, and returns them to service once the executor has nothing old left there."""

from collections.abc import Sequence
from datetime import timedelta

from sqlalchemy import select, update

from cluster.domain.nodes.node_state import UNREACHABLE_AFTER, has_recovered, is_due_to_be_lost
from cluster.services.context import Cluster
from cluster.services.leases import HeldLease, check_lease
from cluster.services.nodes.drains import publish_node_change
from cluster.store.nodes import Node


def mark_silent_nodes_lost(cluster: Cluster, held: HeldLease) -> list[int]:
    """Marks nodes lost whose grace time is over and returns their ids; the next pass fences their attempts.

    Reads without a lock first. Raises LeaseLost.
    """
    now, grace = cluster.clock(), timedelta(seconds=cluster.settings.node_grace_seconds)
    quiet = select(Node).where(
        Node.lost_at.is_(None), Node.heartbeat_at <= now - min(UNREACHABLE_AFTER, grace)
    )
    with cluster.store.read() as session:
        silent = [node for node in session.scalars(quiet) if is_due_to_be_lost(node, now, grace)]
    given_up = []
    for node in silent:
        with cluster.store.write(lock="placement") as session:
            check_lease(session, held)
            changed = session.execute(
                update(Node)
                .where(Node.id == node.id, Node.lost_at.is_(None), Node.heartbeat_at == node.heartbeat_at)
                .values(lost_at=now)
                .returning(Node.id)
            ).first()
        if changed is not None:
            given_up.append(node.id)
            publish_node_change(cluster, node.id)
    return given_up


def list_recovered_nodes(cluster: Cluster) -> list[int]:
    """Lists lost nodes that report again."""
    now = cluster.clock()
    with cluster.store.read() as session:
        lost = session.scalars(select(Node).where(Node.lost_at.is_not(None)))
        return [node.id for node in lost if has_recovered(node, now)]


def return_to_service(cluster: Cluster, held: HeldLease, node_ids: Sequence[int]) -> None:
    """Returns the node to service, once the executor has nothing left there from fenced attempts. Raises LeaseLost."""
    with cluster.store.write(lock="placement") as session:
        check_lease(session, held)
        session.execute(update(Node).where(Node.id.in_(node_ids)).values(lost_at=None))
    for node_id in node_ids:
        publish_node_change(cluster, node_id)


def correct_future_heartbeats(cluster: Cluster, held: HeldLease) -> None:
    """Resets heartbeats that lie in the future after the clock was set back: they would hide that a node is silent."""
    now = cluster.clock()
    with cluster.store.write() as session:
        check_lease(session, held)
        session.execute(update(Node).where(Node.heartbeat_at > now).values(heartbeat_at=now))
