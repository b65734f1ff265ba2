"""A job gets nodes, and units on each of them."""

import pytest

from cluster.domain.placement.gang_placement import NodeOffer, choose_nodes, choose_units, fewest_nodes
from cluster.domain.placement.types import NodeUnits
from cluster.domain.states import NodeState, UnitKind


def offer(
    number: int, free: int, fabric: str | None = None, islands: dict[int, str | None] | None = None
) -> NodeOffer:
    units = tuple(range(free))
    node = NodeUnits(
        number, f"gpu{number:02}", NodeState.READY, UnitKind.GPU, units, 8, fabric, islands or {}
    )
    return NodeOffer(node, free, units)


def chosen(offers: list[NodeOffer], units: int, spread: bool = True) -> list[tuple[int, int]]:
    return [(node.node_id, count) for node, count in choose_nodes(offers, units, spread)]


def test_the_fullest_node_on_which_it_fits_is_taken() -> None:
    assert chosen([offer(1, 8), offer(2, 3), offer(3, 2)], 3) == [(2, 3)]


def test_one_island_goes_before_several() -> None:
    apart: dict[int, str | None] = {0: "a", 1: "b", 2: "c"}
    assert chosen([offer(1, 3, islands=apart), offer(2, 6)], 2) == [(2, 2)]


def test_a_gang_takes_as_few_nodes_as_possible_and_one_fabric() -> None:
    offers = [offer(1, 4, "a"), offer(2, 4, "b"), offer(3, 4, "b"), offer(4, 1, "a")]
    assert chosen(offers, 8) == [(2, 4), (3, 4)]
    assert chosen(offers, 8, spread=False) == []
    assert chosen(offers, 14) == []


@pytest.mark.parametrize(("units", "nodes"), [(1, 1), (4, 1), (5, 2), (7, 3), (8, None)])
def test_the_fewest_nodes_are_counted(units: int, nodes: int | None) -> None:
    assert fewest_nodes([offer(1, 4), offer(2, 2), offer(3, 1)], units) == nodes


@pytest.mark.parametrize(("units", "given"), [(1, (4,)), (2, (0, 1)), (3, (0, 1, 2)), (4, (0, 1, 2, 4))])
def test_units_are_of_the_smallest_island_in_which_all_fit(units: int, given: tuple[int, ...]) -> None:
    islands: dict[int, str | None] = {0: "a", 1: "a", 2: "a", 4: "b"}
    node = offer(1, 5, islands=islands).node
    assert choose_units(node, [0, 1, 2, 4], units) == given
