"""Builds the layout of the current request: navigation, signed-in user, stream topics."""

import socket
from dataclasses import replace
from urllib.parse import urlsplit

from flask import Flask, g, url_for
from flask_login import current_user

from portal.i18n.translate import localized_clock, now
from portal.layout.help_topics import help_url
from portal.layout.navigation import NavigationUser, PageLayout, RailView
from portal.layout.navigation_counts import add_counts
from portal.layout.navigation_groups import navigation_groups
from portal.layout.theme import current_theme
from portal.web.request_context import current_cluster, is_fragment_request


def init_app(app: Flask) -> None:
    """Gives every template `layout`, `rail_view()` and `help_url()`, and fragments the counts of the navigation."""
    app.add_template_global(help_url)
    app.context_processor(add_layout)
    app.after_request(add_counts)


def add_layout() -> dict[str, object]:
    layout = read_page_layout()
    return {"layout": layout, "rail_view": lambda: RailView(layout, current_theme(), localized_clock(now()))}


def read_page_layout() -> PageLayout:
    """Reads the layout. Before sign-in, and for a fragment or the page about a bug, it has only the installation's name
    and version.
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


def installation_name() -> str:
    """The name of the installation: the host of its public address, or the machine's host name."""
    host = urlsplit(current_cluster().settings.public_url).hostname or ""
    return host if host not in ("", "127.0.0.1", "localhost", "::1") else socket.gethostname()
