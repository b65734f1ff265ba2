"""A node takes jobs while it is ready; a placement knows all its units."""

import pytest

from cluster.domain.placement.types import NodeUnits, Placement
from cluster.domain.states import NodeState, UnitKind


@pytest.mark.parametrize(
    ("state", "kept_out", "takes"),
    [
        (NodeState.READY, None, True),
        (NodeState.READY, {"code": "kubernetes.closed"}, False),
        (NodeState.DRAINING, None, False),
    ],
)
def test_a_node_takes_jobs_where_nothing_keeps_them_out(
    state: NodeState, kept_out: dict[str, str] | None, takes: bool
) -> None:
    node = NodeUnits(1, "gpu01", state, UnitKind.GPU, (1, 2), 2, kept_out=kept_out)
    assert node.takes_jobs is takes


def test_a_placement_begins_on_its_first_node() -> None:
    placement = Placement(7, ((3, (11, 12)), (2, (5,))))
    assert (placement.node_id, placement.unit_ids) == (3, (11, 12, 5))
