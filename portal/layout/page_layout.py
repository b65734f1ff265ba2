"""Builds the layout of the current request: navigation with counts and alerts, signed-in user, stream topics."""

import socket
from collections import Counter
from urllib.parse import urlsplit

from flask import g, request, url_for
from flask_login import current_user

from cluster.domain.states import JobState, WorkspaceState
from cluster.domain.workspace_terms import workspace_state
from cluster.services.jobs import state_counts
from cluster.services.people import users
from cluster.services.repairs.catalogue import has_repair_catalogue
from cluster.services.workspaces import queries
from portal.layout.navigation import (
    NavigationUser,
    PageLayout,
    administrator_navigation,
    workspace_navigation,
)
from portal.presenters.alerts import read_alert_lines
from portal.web.request_context import current_actor, current_cluster, is_fragment_request, read_once


def read_page_layout() -> PageLayout:
    """Before sign-in only the place and the version."""
    cluster = current_cluster()
    bare = PageLayout(installation_name=installation_name(), version=cluster.settings.version)
    if g.get("is_bug") or not current_user.is_authenticated:
        return bare
    if is_fragment_request():
        return bare
    calls = Counter(line.navigation_path for line in read_alert_lines())
    calls["/"] = len(read_alert_lines())
    groups = (
        administrator_navigation(request.path, navigation_counts(), calls, has_repair_catalogue(cluster))
        if current_actor().is_administrator
        else workspace_navigation(request.path, navigation_workspace(), navigation_counts(), calls)
    )
    return PageLayout(
        installation_name=bare.installation_name,
        version=bare.version,
        groups=groups,
        user=NavigationUser(current_user.name),
        opens_stream=True,
        topics=("jobs", "queue", "nodes", "operations"),
        sign_out_url=url_for("sign_in.sign_out"),
    )


def navigation_counts() -> dict[str, int]:
    """How many wait and how many run, of what the person may see; silence where there are none."""
    living = read_once(state_counts.count_live_jobs)
    running = sum(number for state, number in living.items() if state != JobState.WAITING)
    shown = {"/queue": living.get(JobState.WAITING, 0), "/jobs": running}
    return {path: number for path, number in shown.items() if number}


def navigation_workspace() -> tuple[int, str] | None:
    """The one that the page is about, else the person's first active one."""
    cluster = current_cluster()
    mine = list(read_once(queries.list_workspace_summaries))
    asked = (request.view_args or {}).get("workspace_id")
    now, zone = cluster.clock(), cluster.settings.zone
    mine.sort(key=lambda row: (row.id != asked, workspace_state(row, now, zone) is not WorkspaceState.ACTIVE))
    return (mine[0].id, mine[0].name) if mine else None


def installation_name() -> str:
    """The name of the installation: the host of its public address, or the machine's host name."""
    host = urlsplit(current_cluster().settings.public_url).hostname or ""
    return host if host not in ("", "127.0.0.1", "localhost", "::1") else socket.gethostname()


def save_preference(name: str, value: str) -> None:
    """Keeps a choice of language or theme in the person's row."""
    if current_user.is_authenticated:
        users.set_preferences(current_cluster(), current_actor(), **{name: value})
