"""The values of the list of nodes: its rows, and how many nodes are in each state."""

from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from flask import url_for

from cluster import words
from cluster.domain.states import NodeState
from cluster.services.nodes.queries import NodeSummary
from cluster.services.nodes.summaries import NodePage
from cluster.services.nodes.totals import NodeTotal
from portal.i18n.shown_moments import ShownMoment, shown_age
from portal.i18n.translate import MISSING, _, localized_size, request_language
from portal.presenters.nodes.node_problems import NodeProblem, problem_of_node
from portal.presenters.nodes.unit_bars import UnitBar, flat_bars
from portal.presenters.unit_words import localized_unit_word

PROBLEMS_DRAWN = 5
"""The number of rows that are open at first. The page of any other node says what helps."""


class NodeRow(NamedTuple):
    """The values of one row's HTML: `href` leads to the node, `look` is the kind of the state macro with its word."""

    id: int
    name: str
    href: str
    look: tuple[str, str | None]
    unit_word: str
    units: str
    unit_count: int
    is_simulated: bool
    bars: tuple[UnitBar, ...]
    use: str
    system: str
    cpus: str
    memory: str
    disk_free: str
    signal: ShownMoment | None
    is_open: bool


class ListedNode(NamedTuple):
    """A row, and the details that are open below it."""

    row: NodeRow
    problem: NodeProblem | None


def list_node_rows(page: NodePage) -> list[ListedNode]:
    # The address is made once: an address that is built for each row costs as much as the row.
    base = url_for("nodes.page", node_id=0).removesuffix("0")
    unit_word, drawn, rows = localized_unit_word(), 0, []
    for node in page.nodes:
        problem = problem_of_node(node) if drawn < PROBLEMS_DRAWN else None
        drawn += problem is not None
        bars = tuple(flat_bars(node, page.colours))
        rows.append(
            ListedNode(node_row(node, f"{base}{node.id}", unit_word, bars, problem is not None), problem)
        )
    return rows


def node_row(
    node: NodeSummary, href: str, unit_word: str, bars: tuple[UnitBar, ...], is_open: bool
) -> NodeRow:
    facts = node.facts
    return NodeRow(
        node.id,
        node.name,
        href,
        node_look(node),
        unit_word,
        units_in_words(node),
        node.unit_count,
        node.is_simulated,
        bars,
        _("%(used)s of %(all)s in use", used=node.held_count, all=node.unit_count),
        str(facts.get("system") or MISSING),
        str(facts.get("cpus") or MISSING),
        localized_size(facts.get("memory_bytes")),
        localized_size(facts.get("disk_free_bytes")),
        shown_age(node.heartbeat_at),
        is_open,
    )


def node_look(node: NodeSummary) -> tuple[str, str | None]:
    """A kind of the macros `state` and `pill`, and its word if the kind's own does not say it."""
    if node.state is NodeState.READY and node.broken_count:
        return "caution", _("Ready · %(n)s broken", n=node.broken_count)
    if node.kubernetes_problem:
        return "caution", _("Ready · not in Kubernetes")
    return node.state.value, None


def units_in_words(node: NodeSummary) -> str:
    """`8 × H100`, or `2 CPU slots` if the units have no model."""
    models = {group.model for group in node.groups if group.model}
    if len(models) == 1:
        return f"{node.unit_count} × {models.pop()}"
    if not node.unit_count:
        return _("none")
    return words.format_units(node.unit_count, node.kind, request_language())


class StateCounts(NamedTuple):
    """The number of nodes in each state. `ready` nodes that Kubernetes keeps out count as `kept_out` too."""

    all: int
    can_take_jobs: int
    kept_out: int
    by_state: Counter[NodeState]


def count_states(totals: Iterable[NodeTotal]) -> StateCounts:
    by_state, can_take_jobs, kept_out = Counter[NodeState](), 0, 0
    for total in totals:
        by_state[total.state] += total.nodes
        can_take_jobs += total.nodes if total.can_take_jobs else 0
        kept_out += total.nodes if total.is_kept_out else 0
    return StateCounts(by_state.total(), can_take_jobs, kept_out, by_state)
