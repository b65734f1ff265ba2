"""Choose the nodes and units of a job: as few nodes as possible, one NVLink island, one InfiniBand fabric."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from cluster.domain.placement.types import NodeUnits


@dataclass(frozen=True)
class NodeOffer:
    """A node and how many of its units a job may have; `free` are the ids that nobody uses."""

    node: NodeUnits
    units: int
    free: Sequence[int]


NodeUnitCount = tuple[NodeUnits, int]
"""A node and how many units are taken there."""


def choose_nodes(offers: Sequence[NodeOffer], units: int, spread: bool) -> list[NodeUnitCount]:
    """Chooses nodes for all units or for none: one node if one is enough, else the fewest nodes if the gang may
    spread.
    """
    fitting = [offer for offer in offers if offer.units >= units]
    if fitting:
        return [(min(fitting, key=lambda offer: _rank(offer, units)).node, units)]
    return choose_several_nodes(offers, units) if spread else []


def _rank(offer: NodeOffer, units: int) -> tuple[bool, int, int]:
    """Returns the rank of a node: one island before several, then the fullest, so that large jobs find room."""
    return units > 1 and not has_island(offer, units), len(offer.free), offer.node.node_id


def has_island(offer: NodeOffer, units: int) -> bool:
    """A node that reports no islands counts as one island."""
    return any(len(island) >= units for island in group_by_island(offer.free, offer.node.islands))


def group_by_island(free: Sequence[int], islands: Mapping[int, str | None]) -> list[list[int]]:
    if not any(islands.values()):
        return [list(free)]
    found: dict[str, list[int]] = {}
    for unit in free:
        found.setdefault(islands.get(unit) or f"alone {unit}", []).append(unit)
    return list(found.values())


def choose_units(node: NodeUnits, free: Sequence[int], units: int) -> tuple[int, ...]:
    """Chooses units of the smallest island in which all fit, else of as few islands as possible."""
    islands = sorted(group_by_island(free, node.islands), key=len)
    for island in islands:
        if len(island) >= units:
            return tuple(island[:units])
    return tuple([unit for island in reversed(islands) for unit in island][:units])


def choose_several_nodes(offers: Sequence[NodeOffer], units: int) -> list[NodeUnitCount]:
    """The fewest nodes that have so many together, those of one fabric if as few of them are enough."""
    count = fewest_nodes(offers, units)
    if count is None:
        return []
    fabrics: dict[str, list[NodeOffer]] = {}
    for offer in offers:
        if offer.node.fabric:
            fabrics.setdefault(offer.node.fabric, []).append(offer)
    joined = [many for _, many in sorted(fabrics.items()) if fewest_nodes(many, units) == count]
    plans = [fill_nodes(many, units, count) for many in (joined or [list(offers)])]
    return min(plans, key=lambda plan: plan[0])[1]


def fewest_nodes(offers: Sequence[NodeOffer], units: int) -> int | None:
    """Returns the least number of nodes that the units need; None if all nodes together are not enough."""
    for count, offer in enumerate(sorted(offers, key=lambda offer: -offer.units), start=1):
        units -= offer.units
        if units <= 0:
            return count
    return None


def fill_nodes(offers: Sequence[NodeOffer], units: int, count: int) -> tuple[int, list[NodeUnitCount]]:
    """Returns the units left over on the last node, and the shares: whole nodes first, the rest on the node where it
    fits best.
    """
    largest = sorted(offers, key=lambda offer: (-offer.units, offer.node.node_id))
    whole = largest[: count - 1]
    rest = units - sum(offer.units for offer in whole)
    fitting = [offer for offer in largest[count - 1 :] if offer.units >= rest]
    last = min(fitting, key=lambda offer: (offer.units, offer.node.node_id))
    shares = [(offer.node, offer.units) for offer in whole]
    return last.units - rest, [*shares, (last.node, rest)]
