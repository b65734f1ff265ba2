"""The occupancy of the cluster on the dashboard: each unit if there are few enough to draw, else the number of nodes in
each state.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from cluster.domain.states import NodeState
from cluster.services.nodes.queries import NodeView
from cluster.services.nodes.totals import ClusterTotals, count_nodes, read_node_map, read_totals_of_everybody
from portal.i18n.translate import _
from portal.presenters.nodes.unit_bars import UnitBar, node_bars, unit_status
from portal.recent_values import EVERYBODY, recent_values
from portal.web.request_context import current_actor, current_cluster

MOST_NODES_DRAWN = 50
"""If there are more nodes, the map shows how many are in each state, because thousands of squares are slow to load."""


HIDDEN_COLOUR = 6
"""The colour of jobs that the reader may not see."""


@dataclass(frozen=True)
class Occupancy:
    """`nodes` has the bars of each node. If there are too many nodes to draw, it is empty and `totals` is not."""

    node_count: int
    ready: int
    """The number of nodes that can take jobs."""
    nodes: Sequence[tuple[NodeView, Sequence[UnitBar]]]
    totals: Sequence["NodeStateTotal"]
    shares: Counter[str]
    """The number of units by what they do, for the bar over the map."""
    legend: Sequence[Mapping[str, object]]


def read_occupancy() -> Occupancy:
    """Reads the map with the workspaces of those jobs alone that the reader may see."""
    cluster = current_cluster()
    everybody = recent_values().read(EVERYBODY, "totals", lambda: read_totals_of_everybody(cluster))
    nodes, totals = read_node_map(cluster, current_actor(), MOST_NODES_DRAWN, everybody)
    return Occupancy(
        totals.node_count,
        count_nodes([total for total in totals.nodes if total.can_take_jobs]),
        [(node, node_bars(node)) for node in nodes],
        totals_by_node_state(totals) if totals.node_count > MOST_NODES_DRAWN else [],
        count_units_by_status(totals),
        workspace_legend(totals),
    )


def count_units_by_status(totals: ClusterTotals) -> Counter[str]:
    """Counts the units of each state, for the bar over the map."""
    counted = Counter[str]()
    for total in totals.units:
        for is_held, count in ((True, total.held), (False, total.units - total.held)):
            counted[unit_status(total.node_state, total.can_take_jobs, total.unit_state, is_held)] += count
    return counted


@dataclass(frozen=True)
class NodeStateTotal:
    """The number of nodes in one state, and the number of their units that are held."""

    state: NodeState
    nodes: int
    held_units: int
    units: int


def totals_by_node_state(totals: ClusterTotals) -> list[NodeStateTotal]:
    """The totals in the order in which NodeState names the states."""
    return [
        NodeStateTotal(
            state,
            nodes,
            sum(total.held for total in totals.units if total.node_state is state),
            sum(total.units for total in totals.units if total.node_state is state),
        )
        for state in NodeState
        if (nodes := sum(total.nodes for total in totals.nodes if total.state is state))
    ]


def workspace_legend(totals: ClusterTotals) -> list[dict[str, object]]:
    """The workspaces that hold units, with their colours. All that the reader may not see count as one more."""
    counted = Counter[tuple[str, int]]()
    for total in totals.held:
        if unit_status(total.node_state, True, total.unit_state, True) == "work":
            counted[total.workspace or "", total.colour or HIDDEN_COLOUR] += total.units
    return [
        {"fill": fill, "word": name or _("others"), "count": count}
        for (name, fill), count in counted.most_common()
    ]
