"""Why a job cannot start as the cluster and its quota are now, whoever ends: nobody has to wait behind it."""

from collections.abc import Sequence

from cluster.domain.board import Head, NodeUnits
from cluster.domain.reasons import (
    ClusterTooSmall,
    NodeDraining,
    NodeLost,
    NodesTooSmall,
    NodeUnreachable,
    NoExecutor,
    NoNodes,
    QuotaTooSmall,
    Reason,
)
from cluster.domain.states import NodeState

AWAY = (NodeState.UNREACHABLE, NodeState.LOST, NodeState.DRAINING, NodeState.NO_EXECUTOR)
"""The likeliest to come back first."""


def why_never(head: Head, nodes: Sequence[NodeUnits], limit: int, spread: bool) -> Reason | None:
    """None where it could start if nothing else ran; `limit` is its workspace's quota."""
    if not nodes:
        return NoNodes(head.units)
    ready = [node for node in nodes if node.state is NodeState.READY]
    if not has_room(head, ready, spread):
        return why_no_room(head, nodes, ready, spread)
    if head.units > limit:
        return QuotaTooSmall(limit, head.units, ready[0].kind)
    return None


def has_room(head: Head, nodes: Sequence[NodeUnits], spread: bool) -> bool:
    totals = [node.total for node in nodes]
    return (sum(totals) if spread else max(totals, default=0)) >= head.units


def why_no_room(head: Head, nodes: Sequence[NodeUnits], ready: Sequence[NodeUnits], spread: bool) -> Reason:
    """A node that is away is the reason where it could run the job, or where there is no other."""
    for state in AWAY:
        away = [node for node in nodes if node.state is state]
        would_do = has_room(head, [*ready, *away], spread) and state is not NodeState.NO_EXECUTOR
        if away and (would_do or not ready):
            return why_away(max(away, key=lambda node: (node.total >= head.units, -node.node_id)), len(nodes))
    largest = max(ready, key=lambda node: (node.total, -node.node_id))
    if spread:
        return ClusterTooSmall(head.units, sum(node.total for node in ready), len(ready), largest.kind)
    return NodesTooSmall(head.units, largest.total, largest.name, largest.kind)


def why_away(node: NodeUnits, nodes: int) -> Reason:
    if node.state is NodeState.UNREACHABLE:
        return NodeUnreachable(node.name, node.since)
    if node.state is NodeState.LOST:
        return NodeLost(node.name, node.since)
    if node.state is NodeState.DRAINING:
        return NodeDraining(node.name, node.since)
    return NoExecutor(node.name, nodes)
