"""Builds the layout of the current request: navigation with counts and alerts, signed-in user, stream topics."""

import socket
from dataclasses import replace
from urllib.parse import urlsplit

from flask import Flask, g, request, url_for
from flask_login import current_user

from cluster.domain.states import WorkspaceState
from cluster.domain.workspace_terms import workspace_state
from cluster.services.alerts.current_alerts import read_current_alerts
from cluster.services.repairs.catalogue import has_repair_catalogue
from cluster.services.workspaces import queries
from portal.i18n.translate import localized_clock, now
from portal.layout.help_topics import help_url
from portal.layout.navigation import (
    NavigationGroup,
    NavigationUser,
    PageLayout,
    RailView,
    administrator_navigation,
    workspace_navigation,
)
from portal.layout.navigation_counts import add_counts, navigation_counts
from portal.layout.theme import current_theme
from portal.presenters.alerts import count_by_navigation_path
from portal.web.request_context import current_actor, current_cluster, is_fragment_request, read_recently


def init_app(app: Flask) -> None:
    """Gives every template `layout`, `rail_view()` and `help_url()`, and every fragment the counts beside the rail."""
    app.add_template_global(help_url)
    app.context_processor(add_layout)
    app.after_request(add_counts)


def add_layout() -> dict[str, object]:
    layout = read_page_layout()
    return {"layout": layout, "rail_view": lambda: RailView(layout, current_theme(), localized_clock(now()))}


def read_page_layout() -> PageLayout:
    """Reads the layout. Before sign-in, for a fragment and for the page about a bug it has only the installation's
    name and version.
    """
    bare = PageLayout(installation_name(), current_cluster().settings.version)
    if g.get("is_bug") or not current_user.is_authenticated or is_fragment_request():
        return bare
    return replace(
        bare,
        groups=navigation_groups(),
        user=NavigationUser(current_user.name),
        opens_stream=True,
        topics=("jobs", "queue", "nodes", "operations"),
        sign_out_url=url_for("sign_in.sign_out"),
    )


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


def installation_name() -> str:
    """The name of the installation: the host of its public address, or the machine's host name."""
    host = urlsplit(current_cluster().settings.public_url).hostname or ""
    return host if host not in ("", "127.0.0.1", "localhost", "::1") else socket.gethostname()
