"""Groups the units of a node or workspace into bars for the maps of the dashboard and the workspace page."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from flask import url_for

from cluster.domain.states import NodeState, UnitState
from cluster.services.nodes import queries
from cluster.services.nodes.queries import NodeView, UnitView
from cluster.store.jobs import Job
from cluster.store.workspaces import Workspace
from portal.i18n.messages import localized_word
from portal.i18n.translate import _
from portal.presenters.unit_words import localized_unit_word, localized_units
from portal.web.request_context import read_once

UNITS_PER_ROW = 8
"""Squares in one row of the map."""
MOST_NODES_DRAWN = 50
"""Of more nodes the map shows how many are in each state: thousands of squares are slow to load."""


@dataclass(frozen=True)
class UnitBar:
    """`kind`: work, free, broken, unreachable or closed; `fill` is the workspace's colour 1 to 6."""

    units: int
    kind: str
    name: str
    fill: int | None = None
    label: str = ""
    href: str | None = None
    job: int | None = None


def node_bars(node: NodeView) -> list[UnitBar]:
    """In the order of the units; a job on more than eight is cut into rows."""
    return [unit_bar(node, kind, run) for (kind, _job), run in group_units(node)]


def group_units(node: NodeView) -> Iterator[tuple[tuple[str, int | None], list[UnitView]]]:
    def key(unit: UnitView) -> tuple[str, int | None, int]:
        # A unit without a job stands alone, and no bar crosses the end of a row of eight.
        position = unit.unit.position
        alone = position if unit.job_id is None else -1 - position // UNITS_PER_ROW
        return unit_status(node, unit), unit.job_id, alone

    for (kind, job_id, _alone), run in groupby(node.units, key):
        yield (kind, job_id), list(run)


def unit_status(node: NodeView, unit: UnitView) -> str:
    """An unreachable node keeps its bookings: we do not know, so its units are not called free or at work."""
    if unit.unit.state is not UnitState.OK:
        return "broken"
    if node.state in (NodeState.UNREACHABLE, NodeState.LOST):
        return "unreachable"
    if unit.job_id is not None:
        return "work"
    return "free" if node.can_take_jobs else "closed"


def unit_bar(node: NodeView, kind: str, run: Sequence[UnitView]) -> UnitBar:
    first = run[0]
    where = f"{node.name} · {unit_positions(run)}"
    if first.job_id is None:
        word = closed_reason(node) if kind == "closed" else localized_word("state.square", kind)
        return UnitBar(len(run), kind, f"{word} · {where}", href=url_for("nodes.page", node_id=node.id))
    label = f"job-{first.job_id}"
    job = first.job
    parts = [label, *((job.name, job.user.name, job.workspace.name) if job else ()), where]
    if kind != "work":
        parts.append(localized_word("state.square", kind))
    href = url_for("jobs.page", job_id=job.id) if job else url_for("nodes.page", node_id=node.id)
    fill = job.workspace.colour if job else None
    return UnitBar(len(run), kind, " · ".join(parts), fill, str(first.job_id), href, first.job_id)


def closed_reason(node: NodeView) -> str:
    if node.kubernetes_problem:
        return _("closed: Kubernetes starts nothing there")
    if node.state is NodeState.DRAINING:
        return _("closed: being drained")
    return _("closed: no executor on this node")


def unit_positions(run: Sequence[UnitView]) -> str:
    """`CPU slot 1` or `GPUs 3–6`; people count from one."""
    first, last = run[0].unit.position + 1, run[-1].unit.position + 1
    return f"{localized_unit_word(len(run))} {first}" + (f"–{last}" if last != first else "")


def workspace_bars(holding: Sequence[Job], workspace: Workspace, used: int, user_id: int) -> list[UnitBar]:
    """A workspace's quota as bars: the reader's jobs, those of others, jobs that the reader may not see, free units."""
    bars = []
    for job in sorted(holding, key=lambda job: (job.user_id != user_id, job.id)):
        fill = 1 if job.user_id == user_id else 2
        name = f"job-{job.id} · {job.name} · {job.user.name} · {localized_units(job.units)}"
        bars += bars_of_count(
            job.units, "work", name, fill=fill, label=str(job.id), href=url_for("jobs.page", job_id=job.id)
        )
    hidden = used - sum(job.units for job in holding)
    if hidden > 0:
        bars += bars_of_count(
            hidden, "closed", f"{localized_units(hidden)} · " + _("jobs of a private training")
        )
    left = max(0, workspace.units - used)
    return bars + [
        UnitBar(1, "free", localized_word("state.square", "free")) for _each in range(min(left, 64))
    ]


def bars_of_count(
    count: int, kind: str, name: str, fill: int | None = None, label: str = "", href: str | None = None
) -> list[UnitBar]:
    """Rows of at most eight squares."""
    widths = [UNITS_PER_ROW] * (count // UNITS_PER_ROW) + (
        [count % UNITS_PER_ROW] if count % UNITS_PER_ROW else []
    )
    return [UnitBar(width, kind, name, fill, label, href) for width in widths]


@dataclass(frozen=True)
class LargestFreeBlock:
    units: int
    node: str


def largest_free_block(quota_left: int) -> LargestFreeBlock:
    """The largest job that could start now on one node within the quota."""
    ready = [node for node in read_once(queries.list_nodes) if node.can_take_jobs]
    best = max(ready, key=lambda node: sum(unit.is_free for unit in node.units), default=None)
    free = min(quota_left, sum(unit.is_free for unit in best.units)) if best else 0
    return LargestFreeBlock(max(0, free), best.name if best and free > 0 else "")


def count_units_by_status(views: list[NodeView]) -> Counter[str]:
    """Units by what is the case with them, for the bar over the map."""
    return Counter(unit_status(node, unit) for node in views for unit in node.units)


@dataclass(frozen=True)
class NodeStateTotal:
    """How many nodes are in one state, and how many of their units are held."""

    state: NodeState
    nodes: int
    held_units: int
    units: int


def totals_by_node_state(views: list[NodeView]) -> list[NodeStateTotal]:
    """Of nodes with units, in the order in which NodeState names the states."""
    by_state = {state: [node for node in views if node.state is state and node.units] for state in NodeState}
    return [
        NodeStateTotal(
            state,
            len(nodes),
            sum(unit.job_id is not None for node in nodes for unit in node.units),
            sum(len(node.units) for node in nodes),
        )
        for state, nodes in by_state.items()
        if nodes
    ]


def workspace_legend(views: list[NodeView]) -> list[dict[str, object]]:
    """Workspaces at work with their colours; what the reader may not see counts as one more."""
    counted: Counter[tuple[str, int]] = Counter()
    for node in views:
        for unit in node.units:
            if unit_status(node, unit) == "work":
                workspace = unit.job.workspace if unit.job else None
                counted[(workspace.name, workspace.colour) if workspace else ("", 6)] += 1
    return [
        {"fill": fill, "word": name or _("others"), "count": count}
        for (name, fill), count in counted.most_common()
    ]
