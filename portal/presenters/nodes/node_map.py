"""The values of the map of nodes: one cell per node, which says how many of its units are in use."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

from flask import url_for

from cluster.domain.states import NodeState
from cluster.services.context import Cluster
from cluster.services.nodes.totals import NodeFilter, NodeUse, list_node_uses
from portal.i18n.messages import localized_word
from portal.i18n.translate import _

MOST_CELLS = 2_000
CELLS_PER_ROW = 16
LEVELS = 8
"""Steps of the bar in a cell."""


class NodeCell(NamedTuple):
    """One node. `kind` is that of a unit square; `level` says from 0 to 8 how much is in use; `label` what is free."""

    node: str
    href: str
    title: str
    kind: str
    level: int
    label: str


@dataclass(frozen=True)
class NodeMap:
    """The cells. `rows` are neighbours in the order of their names; `legend` is (kind, word, number of nodes)."""

    rows: list[tuple[NodeCell, ...]]
    legend: list[tuple[str, str, int]]
    cell_count: int
    has_more: bool


def draw_node_map(cluster: Cluster, node_filter: NodeFilter) -> NodeMap:
    uses = list_node_uses(cluster, node_filter, MOST_CELLS + 1)
    # The address is made once: a thousand of them would cost more than the rest of the page.
    base = url_for("nodes.page", node_id=0).removesuffix("0")
    remark = cache(node_remark)
    cells = [node_cell(use, f"{base}{use.id}", remark(*use[2:])) for use in uses[:MOST_CELLS]]
    return NodeMap(
        [tuple(cells[start : start + CELLS_PER_ROW]) for start in range(0, len(cells), CELLS_PER_ROW)],
        map_legend(cells),
        len(cells),
        len(uses) > MOST_CELLS,
    )


def map_legend(cells: Sequence[NodeCell]) -> list[tuple[str, str, int]]:
    words = {
        "free": _("units free"),
        "work": _("all in use"),
        "broken": _("with broken units"),
        "unreachable": _("unreachable or lost"),
        "closed": _("take no jobs"),
    }
    counts = Counter(cell.kind for cell in cells)
    return [(kind, word, counts[kind]) for kind, word in words.items() if counts[kind]]


def node_cell(use: NodeUse, href: str, remark: str) -> NodeCell:
    free = str(use.free) if use.free and use.can_take_jobs else ""
    return NodeCell(use.name, href, f"{use.name} · {remark}", cell_kind(use), use_level(use), free)


def node_remark(state: NodeState, is_kept_out: bool, units: int, held: int, free: int, broken: int) -> str:
    """The number of units in use and the state in words, which are the same for most nodes."""
    parts = [_("%(used)s / %(all)s in use", used=held, all=units)]
    if state is not NodeState.READY:
        parts.append(localized_word("state.node", state.value))
    elif is_kept_out:
        parts.append(_("not in Kubernetes"))
    if broken:
        parts.append(_("%(n)s broken", n=broken))
    return " · ".join(parts)


def cell_kind(use: NodeUse) -> str:
    if use.state in (NodeState.UNREACHABLE, NodeState.LOST):
        return "unreachable"
    if not use.can_take_jobs:
        return "closed"
    if use.broken:
        return "broken"
    return "free" if use.free else "work"


def use_level(use: NodeUse) -> int:
    """A cell with a unit in use is never drawn empty, and one with a free unit never full."""
    if not use.held:
        return 0
    if use.held >= use.units:
        return LEVELS
    return min(LEVELS - 1, max(1, round(LEVELS * use.held / use.units)))
