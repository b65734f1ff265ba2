"""Groups the units of a node or workspace into bars for the maps of the dashboard and the workspace page."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from flask import url_for

from cluster.domain.states import NodeState, UnitState
from cluster.services.jobs.queries import JobLine
from cluster.services.nodes.queries import NodeSummary, NodeView, UnitView
from cluster.services.queue.written_queue import read_queue_overview
from cluster.store.workspaces import Workspace
from portal.i18n.messages import localized_word
from portal.i18n.translate import _, localized_percent
from portal.presenters.unit_words import localized_unit_word, localized_units
from portal.web.request_context import current_cluster

UNITS_PER_ROW = 8
"""Squares in one row of the map."""


@dataclass(frozen=True)
class UnitBar:
    """One bar. `kind` is work, free, broken, unreachable or closed; `fill` is the workspace's colour 1 to 6."""

    units: int
    kind: str
    name: str
    fill: int | None = None
    label: str = ""
    href: str | None = None
    job: int | None = None
    use: tuple[float | None, ...] = ()
    """The share that each GPU of the bar works now: 0 to 1, None if it does not report it; empty if none does."""


def node_bars(node: NodeView) -> list[UnitBar]:
    """The bars in the order of the units. A job on more than eight units is cut into rows."""
    href = url_for("nodes.page", node_id=node.id)
    return [unit_bar(node, kind, run, href) for (kind, _job), run in group_units(node)]


def group_units(node: NodeView) -> Iterator[tuple[tuple[str, int | None], list[UnitView]]]:
    def key(unit: UnitView) -> tuple[str, int | None, int]:
        # A unit without a job has a bar of its own, and no bar crosses the end of a row of eight.
        position = unit.unit.position
        alone = position if unit.job_id is None else -1 - position // UNITS_PER_ROW
        return unit_status_on(node, unit.unit.state, unit.job_id is not None), unit.job_id, alone

    for (kind, job_id, _alone), run in groupby(node.units, key):
        yield (kind, job_id), list(run)


def unit_status_on(node: NodeSummary, unit_state: UnitState, is_held: bool) -> str:
    return unit_status(node.state, node.can_take_jobs, unit_state, is_held)


def unit_status(node_state: NodeState, can_take_jobs: bool, unit_state: UnitState, is_held: bool) -> str:
    """Returns the unit's state. Units of an unreachable node are neither free nor at work, because their state is
    unknown.
    """
    if unit_state is not UnitState.OK:
        return "broken"
    if node_state in (NodeState.UNREACHABLE, NodeState.LOST):
        return "unreachable"
    if is_held:
        return "work"
    return "free" if can_take_jobs else "closed"


def flat_bars(node: NodeSummary, colours: Mapping[int, int]) -> list[UnitBar]:
    """Bars without names and links, for a table's cell; `colours` are those of the jobs' workspaces."""
    bars: list[UnitBar] = []
    for group in node.groups:
        kind = unit_status_on(node, group.state, group.job_id is not None)
        if group.job_id is None:
            bars += [UnitBar(1, kind, "")] * group.units
        else:
            bars += bars_of_count(group.units, kind, "", fill=colours.get(group.job_id))
    return bars


def unit_bar(node: NodeView, kind: str, run: Sequence[UnitView], node_href: str) -> UnitBar:
    first = run[0]
    where = f"{node.name} · {unit_positions(run)}"
    if first.job_id is None:
        word = closed_reason(node) if kind == "closed" else localized_word("state.square", kind)
        return UnitBar(len(run), kind, f"{word} · {where}", href=node_href)
    label = f"job-{first.job_id}"
    job = first.job
    parts = [label, *((job.name, job.user.name, job.workspace.name) if job else ()), where]
    if kind != "work":
        parts.append(localized_word("state.square", kind))
    use = gpu_use(node, run)
    if use:
        known = [share for share in use if share is not None]
        parts.append(_("GPUs work at %(share)s", share=localized_percent(sum(known) / len(known))))
    href = url_for("jobs.page", job_id=job.id) if job else node_href
    fill = job.workspace.colour if job else None
    return UnitBar(len(run), kind, " · ".join(parts), fill, str(first.job_id), href, first.job_id, use)


def gpu_use(node: NodeView, run: Sequence[UnitView]) -> tuple[float | None, ...]:
    """The newest load of each unit that a job holds; nothing where no GPU of them reports one."""
    loads = [node.gpu_loads.get(one.unit.identity) for one in run]
    use = tuple(load.utilisation if load else None for load in loads)
    return use if any(share is not None for share in use) else ()


def closed_reason(node: NodeView) -> str:
    if node.kubernetes_problem:
        return _("closed: Kubernetes starts nothing there")
    if node.state is NodeState.DRAINING:
        return _("closed: being drained")
    return _("closed: no executor on this node")


def unit_positions(run: Sequence[UnitView]) -> str:
    """Returns `CPU slot 1` or `GPUs 3–6`, counted from one."""
    first, last = run[0].unit.position + 1, run[-1].unit.position + 1
    return f"{localized_unit_word(len(run))} {first}" + (f"–{last}" if last != first else "")


def workspace_bars(
    holding: Sequence[JobLine], workspace: Workspace, used: int, user_id: int
) -> list[UnitBar]:
    """A workspace's quota as bars: the reader's jobs, those of others, jobs that the reader may not see, free units."""
    bars = []
    for job in sorted(holding, key=lambda job: (job.user_id != user_id, job.id)):
        fill = 1 if job.user_id == user_id else 2
        name = f"job-{job.id} · {job.name} · {job.user_name} · {localized_units(job.units)}"
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
    """The largest job that could start now on one node within the quota, as the scheduler last saw the nodes."""
    best = read_queue_overview(current_cluster()).largest_free_block
    free = min(quota_left, best.units) if best else 0
    return LargestFreeBlock(max(0, free), best.node if best and free > 0 else "")
