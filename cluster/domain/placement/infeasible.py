"""Find out whether a job could start if every other job ended; if not, return the reason. Such a job delays nobody."""

from collections.abc import Iterator, Sequence

from cluster.domain.placement.types import JobToPlace, NodeUnits
from cluster.domain.queue.reasons import (
    ClusterTooSmall,
    NodeClosedByKubernetes,
    NodesTooSmall,
    NoExecutor,
    NoNodes,
    OnlyNodesDraining,
    OnlyNodesLost,
    OnlyNodesUnreachable,
    QuotaTooSmall,
    WaitingReason,
)
from cluster.domain.states import NodeState

AWAY_STATES = (NodeState.UNREACHABLE, NodeState.LOST, NodeState.DRAINING)
"""The states of nodes that are away, those first that are likely to end soon."""


def infeasible_reason(
    head: JobToPlace, nodes: Sequence[NodeUnits], limit: int, spread: bool
) -> WaitingReason | None:
    """Returns None if the job could start in an idle cluster. `limit` is the quota of its workspace."""
    if not nodes:
        return NoNodes(head.units)
    ready = [node for node in nodes if node.takes_jobs]
    if not has_enough_units(head, ready, spread):
        return too_few_units_reason(head, nodes, ready, spread)
    if head.units > limit:
        return QuotaTooSmall(limit, head.units, ready[0].kind)
    return None


def has_enough_units(head: JobToPlace, nodes: Sequence[NodeUnits], spread: bool) -> bool:
    totals = [node.total for node in nodes]
    return (sum(totals) if spread else max(totals, default=0)) >= head.units


def too_few_units_reason(
    head: JobToPlace, nodes: Sequence[NodeUnits], ready: Sequence[NodeUnits], spread: bool
) -> WaitingReason:
    """Returns the reason with the nodes that are away, if they could run the job or if no other node exists."""
    for away in group_away_nodes(nodes):
        if away and (has_enough_units(head, [*ready, *away], spread) or not ready):
            return away_reason(max(away, key=lambda node: (node.total >= head.units, -node.node_id)))
    watched = next((node for node in nodes if node.state is NodeState.NO_EXECUTOR), None)
    if watched and not ready:
        return NoExecutor(watched.name, len(nodes))
    largest = max(ready, key=lambda node: (node.total, -node.node_id))
    if spread:
        return ClusterTooSmall(head.units, sum(node.total for node in ready), len(ready), largest.kind)
    return NodesTooSmall(head.units, largest.total, largest.name, largest.kind)


def group_away_nodes(nodes: Sequence[NodeUnits]) -> Iterator[list[NodeUnits]]:
    """Groups nodes that are away and expected back by what keeps them away."""
    for state in AWAY_STATES:
        yield [node for node in nodes if node.state is state]
    yield [node for node in nodes if node.kept_out]


def away_reason(node: NodeUnits) -> WaitingReason:
    if node.state is NodeState.UNREACHABLE:
        return OnlyNodesUnreachable(node.name, node.since)
    if node.state is NodeState.LOST:
        return OnlyNodesLost(node.name, node.since)
    if node.kept_out:
        return NodeClosedByKubernetes(node.name, node.kept_out)
    return OnlyNodesDraining(node.name, node.since)
