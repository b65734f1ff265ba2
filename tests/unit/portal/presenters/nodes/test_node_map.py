"""A cell of the map of nodes says what is the case with the node."""

import pytest

from cluster.domain.states import NodeState
from cluster.services.nodes.totals import NodeUse
from portal.presenters.nodes.node_map import cell_kind, use_level


@pytest.mark.parametrize(
    ("units", "held", "level"),
    [(8, 0, 0), (8, 1, 1), (8, 8, 8), (100, 1, 1), (100, 99, 7), (2, 1, 4), (0, 0, 0), (3, 2, 5)],
)
def test_a_level_is_empty_or_full_only_where_the_node_is(units: int, held: int, level: int) -> None:
    assert use_level(NodeUse(1, "gpu01", NodeState.READY, False, units, held, units - held, 0)) == level


@pytest.mark.parametrize(
    ("state", "is_kept_out", "free", "broken", "kind"),
    [
        (NodeState.READY, False, 1, 0, "free"),
        (NodeState.READY, False, 0, 0, "work"),
        (NodeState.READY, False, 1, 1, "broken"),
        (NodeState.READY, True, 1, 1, "closed"),
        (NodeState.DRAINING, False, 1, 0, "closed"),
        (NodeState.NO_EXECUTOR, False, 1, 0, "closed"),
        (NodeState.UNREACHABLE, False, 1, 1, "unreachable"),
        (NodeState.LOST, False, 1, 0, "unreachable"),
    ],
)
def test_the_gravest_is_what_a_cell_shows(
    state: NodeState, is_kept_out: bool, free: int, broken: int, kind: str
) -> None:
    assert cell_kind(NodeUse(1, "gpu01", state, is_kept_out, 2, 0, free, broken)) == kind
