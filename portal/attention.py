"""The lines of the sign: what cluster.services.attention has found, in the reader's words and with the way out."""

from collections.abc import Iterator
from dataclasses import dataclass

from flask import g
from markupsafe import Markup, escape

from cluster.domain.attention import Concern, Topic
from cluster.services.attention import nothing_starts, path_of, read_concerns
from portal.current import current_actor, current_cluster, read_once
from portal.i18n import _
from portal.saying import N_, say

BOLD = ("job", "node", "name", "pod")
"""Names in the data of a concern."""
BUTTONS = {
    Topic.JOB: N_("See job"),
    Topic.OPERATION: N_("See what failed"),
    Topic.NODE: N_("See node"),
    Topic.ENGINE: N_("See nodes"),
    Topic.KUBERNETES: N_("See nodes"),
    Topic.BACKUPS: N_("See backups"),
    Topic.DISK: N_("Free disk space"),
    Topic.DATASET: N_("See dataset"),
    Topic.WORKSPACE: N_("See workspace"),
    Topic.ENVIRONMENT: N_("See what failed"),
    Topic.TELLING: N_("See address"),
}
PLACES = {
    Topic.JOB: "/jobs",
    Topic.OPERATION: "/operations",
    Topic.NODE: "/nodes",
    Topic.ENGINE: "/nodes",
    Topic.KUBERNETES: "/nodes",
    Topic.BACKUPS: "/repairs",
    Topic.DISK: "/repairs",
    Topic.WORKSPACE: "/workspaces",
    Topic.ENVIRONMENT: "/operations",
}


@dataclass(frozen=True)
class Line:
    """`kind` is a state of the macros; `button` the word on the one way out, which leads to `href`."""

    kind: str
    what: Markup
    detail: str = ""
    href: str | None = None
    button: str = ""
    word: str | None = None
    place: str = "/"
    """The rail's entry that counts it too."""


def attention() -> list[Line]:
    """Read once per request: the page and the rail show the same."""
    if "attention" not in g:
        found = read_concerns(current_cluster(), current_actor(), read_once)
        g.attention = [line_of(concern) for concern in found]
    lines: list[Line] = g.attention
    return lines


def engine_lines() -> Iterator[Line]:
    """For administrators: what starts jobs does not answer, or a disk has no room."""
    if current_actor().is_administrator:
        yield from map(line_of, nothing_starts(current_cluster()))


def line_of(concern: Concern) -> Line:
    is_administrator = current_actor().is_administrator
    extends = concern.topic is Topic.WORKSPACE and is_administrator
    path = path_of(concern, is_administrator)
    return Line(
        concern.urgency.value,
        embolden(say(concern.code, concern.data), concern),
        " · ".join(say(detail.code, detail.data) for detail in concern.details),
        path or None,
        (_("Extend") if extends else _(BUTTONS[concern.topic])) if path else "",
        place=PLACES.get(concern.topic, "/"),
    )


def embolden(sentence: str, concern: Concern) -> Markup:
    """The sentence with its names in bold."""
    text = escape(sentence)
    for name in [str(concern.data[key]) for key in BOLD if key in concern.data]:
        text = Markup(text.replace(escape(name), Markup("<b>%s</b>") % name, 1))
    return text
