"""Chooses the theme of a request, and gives templates the versioned addresses of static files."""

from __future__ import annotations

import time
from functools import lru_cache
from typing import Any

from flask import Flask, g, request, url_for
from markupsafe import Markup

from cluster.portal_paths import STREAM
from portal.rendering.answer_marks import add_mark
from portal.web.request_context import current_cluster

THEMES = ("light", "dark")
THEME_COOKIE = "gc_theme"
ICON_SPRITE = "vendor/tabler-icons-3.51.0/sprite.svg"


def chosen_theme() -> str | None:
    """The theme that the user's row or the cookie names; None if neither does."""
    chosen = g.get("theme") or request.cookies.get(THEME_COOKIE)
    return chosen if chosen in THEMES else None


def current_theme() -> str:
    """Light or dark as far as the server knows; js/initial_theme.js follows the system if nobody chose."""
    return chosen_theme() or "light"


def follows_system_theme() -> bool:
    """Whether the page follows the system."""
    return chosen_theme() is None


class StaticUrls:
    """The addresses of static files, made once: a page names thirty of them, and the icons a hundred times."""

    def __init__(self) -> None:
        self.made: dict[tuple[str, str], str] = {}

    def url(self, filename: str) -> str:
        named = (request.script_root, filename)
        found = self.made.get(named)
        if found is None:
            found = url_for("static", filename=filename)
            if not request.script_root:
                self.made[named] = found
        return found

    def icon(self, name: str, label: str | None = None, classes: str = "") -> Markup:
        """One symbol of the sprite; with a label it is an image of that name, without one it is hidden from readers."""
        return icon_html(self.url(ICON_SPRITE), name, label, classes)


@lru_cache(maxsize=1024, typed=True)
def icon_html(sprite: str, name: str, label: str | None, classes: str) -> Markup:
    said = Markup('role="img" aria-label="{}"').format(label) if label else Markup('aria-hidden="true"')
    return Markup('<svg class="icon {}" {}><use href="{}#{}"/></svg>').format(classes, said, sprite, name)


def stream_start_id() -> str:
    """The id after which the stream of a page rendered now begins: it delivers the events that are published until it
    opens. Redis makes the ids of its entries from milliseconds; one second is subtracted for clocks that differ a
    little.
    """
    return f"{int(time.time() - 1) * 1000}-0"


def this_address() -> str:
    """The address to which the forms for language and theme lead back."""
    return request.full_path if request.method == "GET" else "/"


def init_app(app: Flask) -> None:
    """Gives templates `theme()`, the icons and versioned addresses of static files."""
    urls = StaticUrls()
    app.jinja_env.globals.update(
        theme=current_theme,
        follows_system_theme=follows_system_theme,
        stream_path=STREAM,
        static_url=urls.url,
        icon_html=urls.icon,
    )
    app.url_defaults(add_static_version)
    add_mark(app, "stream_start_id", stream_start_id)
    add_mark(app, "this_address", this_address)


def add_static_version(endpoint: str, values: dict[str, Any]) -> None:
    """Adds the version to static addresses, so that an update is loaded at once and caches may keep everything else."""
    if endpoint == "static":
        values.setdefault("v", current_cluster().settings.version)
