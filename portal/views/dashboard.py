"""The dashboard: alerts, occupancy of the cluster, the queue and the reader's own jobs."""

from collections import Counter
from dataclasses import dataclass

from flask import Blueprint, render_template
from flask.typing import ResponseReturnValue

from cluster.domain.queue.start_estimate import MAX_AHEAD_COUNTED
from cluster.domain.states import WorkspaceState
from cluster.domain.workspace_terms import days_left, workspace_state
from cluster.services.jobs import queries, state_counts
from cluster.services.nodes import queries as nodes
from cluster.services.nodes.queries import NodeView
from cluster.services.operations import queries as operation_queries
from cluster.services.queue import queries as queue
from cluster.services.queue.queries import QueueSummary
from cluster.services.storage.disk_space import read_disk_usage
from cluster.services.workspaces import queries as workspace_queries
from cluster.services.workspaces.queries import list_workspace_summaries
from cluster.store.workspaces import Workspace
from portal.i18n.messages import store_wait_explanations, waiting_label
from portal.i18n.translate import _, now
from portal.presenters.alerts import read_alert_lines
from portal.presenters.job_texts import reason_count_text
from portal.presenters.unit_bars import unit_status
from portal.web.request_context import (
    current_actor,
    current_cluster,
    is_fragment_request,
    read_once,
    store_read,
)

blueprint = Blueprint("dashboard", __name__)

ENDS_SOON_DAYS = 45
OPERATIONS_SHOWN = 5
JOBS_SHOWN = 8


@blueprint.get("/")
def home() -> ResponseReturnValue:
    cluster, actor = current_cluster(), current_actor()
    views = read_once(nodes.list_nodes)
    places = read_once(workspace_queries.list_workspaces)
    store_read(list_workspace_summaries, places)
    mine = queries.list_jobs(cluster, actor, user_id=actor.user_id, limit=JOBS_SHOWN)
    seen = queue.read_queue_summary(cluster, mine)
    store_wait_explanations(seen.explanations)
    return render_template(
        "dashboard/_dashboard.html" if is_fragment_request() else "dashboard/page.html",
        lines=read_alert_lines(),
        checked=now(),
        nodes=views,
        ready=sum(node.can_take_jobs for node in views),
        shares=count_units_by_status(views),
        legend=workspace_legend(views),
        living=read_once(state_counts.count_live_jobs),
        line=dashboard_queue(seen),
        operations=read_once(operation_queries.list_operations)[:OPERATIONS_SHOWN],
        disk=read_disk_usage(cluster.settings.state_dir) if actor.is_administrator else None,
        ending=ending_workspaces(places),
        workspaces=active_workspaces(places),
        use=workspace_queries.read_units_in_use_of(cluster, [place.id for place in places]),
        mine=mine,
        has_workspaces=bool(places),
    )


@dataclass(frozen=True)
class DashboardQueue:
    """How many wait (1,001 stands for more than 1,000), since when the longest one, and how often each reason."""

    count: int
    longest_seconds: float
    reasons: list[tuple[str, str]]


def dashboard_queue(seen: QueueSummary) -> DashboardQueue:
    """Counts the waiting jobs of all users at this moment."""
    waited = (now() - seen.oldest_submission).total_seconds() if seen.oldest_submission else 0.0
    reasons = [(waiting_label(one.code), reason_count_text(one)) for one in seen.counts]
    count = sum(one.count + one.is_more for one in seen.counts)
    return DashboardQueue(min(MAX_AHEAD_COUNTED + 1, count), waited, reasons[:4])


def count_units_by_status(views: list[NodeView]) -> Counter[str]:
    """Units by what is the case with them, for the bar over the map."""
    return Counter(unit_status(node, unit) for node in views for unit in node.units)


@blueprint.app_template_global("storage_path")
def storage_path() -> str:
    return str(current_cluster().settings.state_dir)


def workspace_legend(views: list[NodeView]) -> list[dict[str, object]]:
    """Workspaces at work with their colours; what the reader may not see counts as one more."""
    counted: Counter[tuple[str, int]] = Counter()
    for node in views:
        for unit in node.units:
            if unit_status(node, unit) == "work":
                place = unit.job.workspace if unit.job else None
                counted[(place.name, place.colour) if place else ("", 6)] += 1
    return [
        {"fill": fill, "word": name or _("others"), "count": count}
        for (name, fill), count in counted.most_common()
    ]


def active_workspaces(places: list[Workspace]) -> list[Workspace]:
    return [place for place in places if workspace_state_now(place) is not WorkspaceState.EXPIRED]


def ending_workspaces(places: list[Workspace]) -> list[Workspace]:
    """Active ones that end within weeks, the soonest first."""
    cluster = current_cluster()
    at, zone = cluster.clock(), cluster.settings.zone
    soon = [
        place
        for place in places
        if workspace_state_now(place) is WorkspaceState.ACTIVE
        and days_left(place, at, zone) <= ENDS_SOON_DAYS
    ]
    return sorted(soon, key=lambda place: place.ends_on)[:5]


def workspace_state_now(place: Workspace) -> WorkspaceState:
    return workspace_state(place, current_cluster().clock(), current_cluster().settings.zone)
