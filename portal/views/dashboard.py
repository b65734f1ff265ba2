"""The first page: what needs a person, how full the cluster is, what waits; one's own work."""

from collections import Counter
from dataclasses import dataclass

from flask import Blueprint, render_template
from flask.typing import ResponseReturnValue

from cluster.domain.outlook import MOST_AHEAD
from cluster.domain.states import WorkspaceState
from cluster.domain.terms import days_left, workspace_state
from cluster.services import job_counts, jobs, nodes, operations, queue, workspaces
from cluster.services.disks import disk_of
from cluster.services.nodes import NodeView
from cluster.services.places import list_places
from cluster.services.queue import AtAGlance
from cluster.store.workspaces import Workspace
from portal.attention import attention
from portal.current import current_actor, current_cluster, is_fragment, know, read_once
from portal.i18n import _, now
from portal.job_words import many
from portal.saying import know_standings, reason_word
from portal.unit_bars import kind_of

blueprint = Blueprint("dashboard", __name__)

ENDS_SOON_DAYS = 45
OPERATIONS_SHOWN = 5
JOBS_SHOWN = 8


@blueprint.get("/")
def home() -> ResponseReturnValue:
    cluster, actor = current_cluster(), current_actor()
    views = read_once(nodes.unit_map)
    places = read_once(workspaces.list_workspaces)
    know(list_places, places)
    mine = jobs.list_jobs(cluster, actor, user_id=actor.user_id, limit=JOBS_SHOWN)
    seen = queue.glance(cluster, mine)
    know_standings(seen.standings)
    return render_template(
        "dashboard/_dashboard.html" if is_fragment() else "dashboard/page.html",
        lines=attention(),
        checked=now(),
        nodes=views,
        ready=sum(node.takes_jobs for node in views),
        shares=shares(views),
        legend=legend(views),
        living=read_once(job_counts.count_living),
        line=waiting_line(seen),
        operations=read_once(operations.list_operations)[:OPERATIONS_SHOWN],
        disk=disk_of(cluster.settings.state_dir) if actor.is_administrator else None,
        ending=ending(places),
        workspaces=active(places),
        use=workspaces.use_of(cluster, [place.id for place in places]),
        mine=mine,
        has_workspaces=bool(places),
    )


@dataclass(frozen=True)
class WaitingLine:
    """How many wait (1,001 stands for more than 1,000), since when the longest one, and how often each reason."""

    count: int
    longest_seconds: float
    reasons: list[tuple[str, str]]


def waiting_line(seen: AtAGlance) -> WaitingLine:
    """Everybody's jobs, at this moment."""
    waited = (now() - seen.oldest).total_seconds() if seen.oldest else 0.0
    reasons = [(reason_word(one.code), many(one)) for one in seen.counts]
    count = sum(one.count + one.is_more for one in seen.counts)
    return WaitingLine(min(MOST_AHEAD + 1, count), waited, reasons[:4])


def shares(views: list[NodeView]) -> Counter[str]:
    """Units by what is the case with them, for the bar over the map."""
    return Counter(kind_of(node, unit) for node in views for unit in node.units)


@blueprint.app_template_global("storage_path")
def storage_path() -> str:
    return str(current_cluster().settings.state_dir)


def legend(views: list[NodeView]) -> list[dict[str, object]]:
    """Workspaces at work with their colours; what the reader may not see counts as one more."""
    counted: Counter[tuple[str, int]] = Counter()
    for node in views:
        for unit in node.units:
            if kind_of(node, unit) == "work":
                place = unit.job.workspace if unit.job else None
                counted[(place.name, place.colour) if place else ("", 6)] += 1
    return [
        {"fill": fill, "word": name or _("others"), "count": count}
        for (name, fill), count in counted.most_common()
    ]


def active(places: list[Workspace]) -> list[Workspace]:
    return [place for place in places if state_of(place) is not WorkspaceState.EXPIRED]


def ending(places: list[Workspace]) -> list[Workspace]:
    """Active ones that end within weeks, the soonest first."""
    cluster = current_cluster()
    at, zone = cluster.clock(), cluster.settings.zone
    soon = [
        place
        for place in places
        if state_of(place) is WorkspaceState.ACTIVE and days_left(place, at, zone) <= ENDS_SOON_DAYS
    ]
    return sorted(soon, key=lambda place: place.ends_on)[:5]


def state_of(place: Workspace) -> WorkspaceState:
    return workspace_state(place, current_cluster().clock(), current_cluster().settings.zone)
