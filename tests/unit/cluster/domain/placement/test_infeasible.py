"""An infeasible job has a reason even if nothing else ran."""

from typing import Any

import pytest

from cluster.domain.placement.infeasible import infeasible_reason
from cluster.domain.placement.types import JobToPlace, NodeUnits
from cluster.domain.queue import reasons
from cluster.domain.states import NodeState, UnitKind


def node(number: int, total: int, state: NodeState = NodeState.READY, **more: Any) -> NodeUnits:
    return NodeUnits(number, f"gpu{number:02}", state, UnitKind.GPU, (), total, **more)


@pytest.mark.parametrize(
    ("nodes", "spread", "limit", "kind"),
    [
        ([], False, 8, reasons.NoNodes),
        ([node(1, 4)], False, 8, None),
        ([node(1, 4)], False, 3, reasons.QuotaTooSmall),
        ([node(1, 2)], False, 8, reasons.NodesTooSmall),
        ([node(1, 2), node(2, 2)], True, 8, None),
        ([node(1, 2), node(2, 1)], True, 8, reasons.ClusterTooSmall),
        ([node(1, 4, NodeState.UNREACHABLE)], False, 8, reasons.OnlyNodesUnreachable),
        ([node(1, 4, NodeState.LOST)], False, 8, reasons.OnlyNodesLost),
        ([node(1, 2), node(2, 4, NodeState.DRAINING)], False, 8, reasons.OnlyNodesDraining),
        ([node(1, 2), node(2, 3, NodeState.DRAINING)], False, 8, reasons.NodesTooSmall),
        ([node(1, 4, kept_out={"code": "kubernetes.closed"})], False, 8, reasons.NodeClosedByKubernetes),
        ([node(1, 4, NodeState.NO_EXECUTOR)], False, 8, reasons.NoExecutor),
    ],
)
def test_a_job_of_four_units_has_one_reason(
    nodes: list[NodeUnits], spread: bool, limit: int, kind: type | None
) -> None:
    reason = infeasible_reason(JobToPlace(1, 1, 4), nodes, limit, spread)
    assert (type(reason) if reason else None) is kind
