"""Builds the navigation of the current person, with counts and alerts."""

from flask import request

from cluster.domain.states import WorkspaceState
from cluster.domain.workspace_terms import workspace_state
from cluster.services.alerts.current_alerts import read_current_alerts
from cluster.services.repairs.catalogue import has_repair_catalogue
from cluster.services.workspaces import queries
from portal.layout.navigation import NavigationGroup, administrator_navigation, workspace_navigation
from portal.layout.navigation_counts import navigation_counts
from portal.presenters.alerts import count_by_navigation_path
from portal.web.request_context import current_actor, current_cluster, read_recently


def navigation_groups() -> tuple[NavigationGroup, ...]:
    alerts = read_recently(read_current_alerts)
    alert_counts = count_by_navigation_path(alerts)
    alert_counts["/"] = alerts.count
    if current_actor().is_administrator:
        has_repairs = has_repair_catalogue(current_cluster())
        return administrator_navigation(request.path, navigation_counts(), alert_counts, has_repairs)
    return workspace_navigation(request.path, navigation_workspace(), navigation_counts(), alert_counts)


def navigation_workspace() -> tuple[int, str] | None:
    """The workspace that the page is about, else the person's first active one; None if the person has none."""
    cluster = current_cluster()
    workspaces = read_recently(queries.list_workspace_summaries)
    page_id = (request.view_args or {}).get("workspace_id")
    now, zone = cluster.clock(), cluster.settings.zone
    first = min(
        workspaces,
        key=lambda row: (row.id != page_id, workspace_state(row, now, zone) is not WorkspaceState.ACTIVE),
        default=None,
    )
    return (first.id, first.name) if first else None
