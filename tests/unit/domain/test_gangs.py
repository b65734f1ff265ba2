"""Gangs go on the fewest nodes; one island and one fabric where there is a choice."""

import pytest

from cluster.domain.board import NodeUnits
from cluster.domain.gangs import Offer, choose_nodes, choose_units
from cluster.domain.states import NodeState, UnitKind


def offer(number: int, islands: list[int], fabric: str | None = None) -> Offer:
    """A node whose free units lie in islands of these sizes; unit ids say node, island and place."""
    free = [number * 100 + island * 10 + i for island, size in enumerate(islands) for i in range(size)]
    names: dict[int, str | None] = {unit: str(unit // 10) for unit in free}
    node = NodeUnits(number, f"gpu{number}", NodeState.READY, UnitKind.GPU, tuple(free), 8, fabric, names)
    return Offer(node, len(free), free)


@pytest.mark.parametrize(
    ("offers", "units", "chosen"),
    [
        ([offer(1, [4, 4]), offer(2, [3])], 2, [(2, 2)]),  # The fullest node that has room.
        ([offer(1, [4, 4]), offer(2, [2, 2])], 4, [(1, 4)]),  # One island before the fullest node.
        ([offer(1, [4, 4]), offer(2, [4, 4])], 6, [(1, 6)]),
        ([offer(1, [1]), offer(2, [1])], 2, []),
        ([], 1, []),
    ],
)
def test_on_one_node(offers: list[Offer], units: int, chosen: list[tuple[int, int]]) -> None:
    assert [(node.node_id, count) for node, count in choose_nodes(offers, units, spread=False)] == chosen


@pytest.mark.parametrize(
    ("offers", "units", "chosen"),
    [
        ([offer(1, [4]), offer(2, [4]), offer(3, [8])], 8, [(3, 8)]),  # One node, if one has room.
        ([offer(1, [4]), offer(2, [4]), offer(3, [6])], 8, [(3, 6), (1, 2)]),
        ([offer(1, [6]), offer(2, [4]), offer(3, [2])], 8, [(1, 6), (3, 2)]),  # The rest where it fits best.
        ([offer(1, [4], "a"), offer(2, [4], "b"), offer(3, [4], "b")], 8, [(2, 4), (3, 4)]),
        # Fewer nodes before one fabric.
        (
            [offer(1, [7], "a"), offer(2, [7], "b"), offer(3, [4], "b"), offer(4, [3], "b")],
            14,
            [(1, 7), (2, 7)],
        ),
        ([offer(1, [4]), offer(2, [4])], 9, []),  # All or nothing.
    ],
)
def test_over_several_nodes(offers: list[Offer], units: int, chosen: list[tuple[int, int]]) -> None:
    assert [(node.node_id, count) for node, count in choose_nodes(offers, units, spread=True)] == chosen


@pytest.mark.parametrize(
    ("islands", "units", "chosen"),
    [
        ([4, 2], 1, (110,)),  # The small island first, so that the large one stays whole.
        ([4, 2], 2, (110, 111)),
        ([4, 2], 3, (100, 101, 102)),
        ([2, 4], 5, (110, 111, 112, 113, 100)),
    ],
)
def test_units_of_one_island(islands: list[int], units: int, chosen: tuple[int, ...]) -> None:
    made = offer(1, islands)
    assert choose_units(made.node, made.free, units) == chosen
