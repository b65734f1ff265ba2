"""The data of base.html: navigation groups and items, the signed-in user and the topics of the event stream.

`base.html` reads one `PageLayout`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from portal.i18n.translate import _


@dataclass(frozen=True)
class NavigationItem:
    """One link of the navigation. `count` is the number of things behind it, `alert_count` the number of those that
    need a person.
    """

    icon: str
    label: str
    href: str
    count: int | None = None
    alert_count: int = 0
    is_current: bool = False
    also: tuple[str, ...] = ()
    """Paths of further pages on which it is the current one."""


@dataclass(frozen=True)
class NavigationGroup:
    """Items under one small title; the first group has no title."""

    title: str | None
    items: tuple[NavigationItem, ...]


@dataclass(frozen=True)
class NavigationUser:
    """The signed-in user as the foot of the navigation shows it."""

    name: str
    href: str = "/profile"

    @property
    def initials(self) -> str:
        """Two letters for the badge."""
        return self.name[:2].upper()


@dataclass(frozen=True)
class PageLayout:
    """The content of base.html besides the page itself. Before sign-in there are no groups, no user and no stream."""

    installation_name: str
    version: str
    groups: tuple[NavigationGroup, ...] = ()
    user: NavigationUser | None = None
    opens_stream: bool = False
    """Whether the page opens the stream; pages before sign-in do not."""
    topics: tuple[str, ...] = ()
    sign_out_url: str | None = None

    @property
    def alert_count(self) -> int:
        """The number of things that need a person, for the phone's Menu button."""
        return max((entry.alert_count for group in self.groups for entry in group.items), default=0)


@dataclass(frozen=True)
class RailView:
    """Builds the layout of a page. `as_of` is when the page was made, `theme` the one that is shown."""

    layout: PageLayout
    theme: str
    as_of: str


def administrator_navigation(
    path: str,
    counts: Mapping[str, int] | None = None,
    alert_counts: Mapping[str, int] | None = None,
    has_repairs: bool = False,
) -> tuple[NavigationGroup, ...]:
    """Returns the three groups: the cluster now, research, administration. `counts` are by path, as {"/queue": 45}."""
    repairs = (NavigationItem("tool", _("Repairs"), "/repairs"),) if has_repairs else ()
    return mark_current_item(
        path,
        counts or {},
        alert_counts or {},
        (
            NavigationGroup(
                None,
                (
                    NavigationItem("layout-dashboard", _("Dashboard"), "/"),
                    NavigationItem("list-numbers", _("Queue"), "/queue"),
                    NavigationItem("server-2", _("Nodes"), "/nodes"),
                ),
            ),
            NavigationGroup(
                _("Research"),
                (
                    NavigationItem("briefcase", _("Workspaces"), "/workspaces"),
                    NavigationItem("school", _("Trainings"), "/trainings"),
                    NavigationItem("player-play", _("Jobs"), "/jobs", also=("/sweeps",)),
                    NavigationItem("pencil", _("Notebooks"), "/notebooks"),
                    NavigationItem("database", _("Datasets"), "/datasets"),
                    NavigationItem("box", _("Environments"), "/environments"),
                ),
            ),
            NavigationGroup(
                _("Administration"),
                (
                    *repairs,
                    NavigationItem("archive", _("Backups"), "/repairs/backups"),
                    NavigationItem("clipboard-check", _("Operations"), "/operations"),
                    NavigationItem("users", _("Users"), "/users"),
                    NavigationItem("file-text", _("Access log"), "/access-log"),
                    NavigationItem("clock", _("Accounting"), "/accounting"),
                ),
            ),
        ),
    )


def workspace_navigation(
    path: str,
    workspace: tuple[int, str] | None,
    counts: Mapping[str, int] | None = None,
    alert_counts: Mapping[str, int] | None = None,
) -> tuple[NavigationGroup, ...]:
    """The navigation of a researcher: home and queue, then the parts of one workspace (its id and name)."""
    first = NavigationGroup(
        None,
        (
            NavigationItem("home", _("Home"), "/"),
            NavigationItem("list-numbers", _("Queue"), "/queue"),
            NavigationItem("briefcase", _("Workspaces"), "/workspaces"),
            NavigationItem("box", _("Environments"), "/environments"),
            NavigationItem("clock", _("Accounting"), "/accounting"),
        ),
    )
    if workspace is None:
        return mark_current_item(path, counts or {}, alert_counts or {}, (first,))
    identity, title = workspace
    inside = f"/workspaces/{identity}"
    second = NavigationGroup(
        title,
        (
            NavigationItem("school", _("Trainings"), f"{inside}/trainings", also=("/trainings",)),
            NavigationItem("player-play", _("Jobs"), "/jobs", also=("/sweeps",)),
            NavigationItem("pencil", _("Notebooks"), "/notebooks"),
            NavigationItem("database", _("Datasets"), f"{inside}/datasets", also=("/datasets",)),
        ),
    )
    return mark_current_item(path, counts or {}, alert_counts or {}, (first, second))


def mark_current_item(
    path: str, counts: Mapping[str, int], alert_counts: Mapping[str, int], groups: tuple[NavigationGroup, ...]
) -> tuple[NavigationGroup, ...]:
    """Fills in the counts, and marks the item with the longest matching path as the current one."""
    entries = [
        (known, entry) for group in groups for entry in group.items for known in (entry.href, *entry.also)
    ]
    fits = [
        (len(known), entry.href)
        for known, entry in entries
        if path == known or (known != "/" and path.startswith(known + "/"))
    ]
    current = max(fits, default=(0, None))[1]
    return tuple(
        replace(
            group,
            items=tuple(
                replace(
                    entry,
                    count=counts.get(entry.href),
                    alert_count=alert_counts.get(entry.href, 0),
                    is_current=entry.href == current,
                )
                for entry in group.items
            ),
        )
        for group in groups
    )
