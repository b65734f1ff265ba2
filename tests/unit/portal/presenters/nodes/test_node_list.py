"""The list of nodes counts states and says in a word how a node is."""

from datetime import UTC, datetime

import pytest

from cluster.domain.states import NodeState, UnitKind, UnitState
from cluster.services.nodes.queries import NodeColumns, NodeSummary, UnitGroup
from cluster.services.nodes.totals import NodeTotal
from portal.presenters.nodes.node_list import count_states, node_look, units_in_words

NOW = datetime(2026, 11, 23, tzinfo=UTC)


def node(state: NodeState, *groups: UnitGroup, kept_out: bool = False) -> NodeSummary:
    columns = NodeColumns(1, "gpu01", NOW, True, None, None, None, {}, "", NOW, None)
    return NodeSummary(columns, state, {"code": "kubernetes.closed"} if kept_out else None, None, groups)


def group(units: int, state: UnitState = UnitState.OK, model: str = "H100") -> UnitGroup:
    return UnitGroup(state, UnitKind.GPU, model, False, None, units)


@pytest.mark.parametrize(
    ("shown", "look"),
    [
        (node(NodeState.READY, group(8)), ("ready", None)),
        (node(NodeState.READY, group(6), group(2, UnitState.BROKEN)), ("caution", "Ready · 2 broken")),
        (node(NodeState.READY, group(8), kept_out=True), ("caution", "Ready · not in Kubernetes")),
        (node(NodeState.LOST, group(8, UnitState.BROKEN)), ("lost", None)),
    ],
)
def test_a_node_looks_as_grave_as_it_is(shown: NodeSummary, look: tuple[str, str | None]) -> None:
    assert node_look(shown) == look


@pytest.mark.parametrize(
    ("groups", "text"),
    [
        ((group(6), group(2, UnitState.BROKEN)), "8 × H100"),
        ((group(1, model="A100"), group(1)), "2 GPUs"),
        ((), "none"),
    ],
)
def test_units_are_told_by_their_model(groups: tuple[UnitGroup, ...], text: str) -> None:
    assert units_in_words(node(NodeState.READY, *groups)) == text


def test_ready_nodes_that_kubernetes_keeps_out_take_no_jobs() -> None:
    counts = count_states(
        [
            NodeTotal(NodeState.READY, False, 3),
            NodeTotal(NodeState.READY, True, 2),
            NodeTotal(NodeState.LOST, False, 1),
        ]
    )
    assert (counts.all, counts.can_take_jobs, counts.kept_out) == (6, 3, 2)
    assert counts.by_state == {NodeState.READY: 5, NodeState.LOST: 1}
