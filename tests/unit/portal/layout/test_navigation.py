"""The navigation marks the entry of the page that is shown, with its counts."""

import pytest
from flask import Flask

from portal.layout.navigation import (
    NavigationGroup,
    NavigationItem,
    NavigationUser,
    PageLayout,
    administrator_navigation,
    mark_current_item,
    workspace_navigation,
)

GROUPS = (
    NavigationGroup(None, (NavigationItem("home", "Home", "/"), NavigationItem("jobs", "Jobs", "/jobs"))),
)


@pytest.mark.parametrize(
    ("path", "current"), [("/", "Home"), ("/jobs", "Jobs"), ("/jobs/7", "Jobs"), ("/jobsite", None)]
)
def test_the_entry_with_the_longest_path_is_the_current_one(path: str, current: str | None) -> None:
    (group,) = mark_current_item(path, {"/jobs": 45}, {"/": 2}, GROUPS)
    assert [entry.label for entry in group.items if entry.is_current] == ([current] if current else [])
    assert [(entry.count, entry.alert_count) for entry in group.items] == [(None, 2), (45, 0)]


@pytest.mark.parametrize(
    ("path", "label"),
    [
        ("/datasets/7", "Datasets"),
        ("/trainings/7", "Trainings"),
        ("/trainings/7/jobs/new", "Trainings"),
        ("/sweeps/7", "Jobs"),
        ("/workspaces/3/datasets", "Datasets"),
        ("/workspaces/3", "Workspaces"),
    ],
)
def test_pages_of_things_mark_the_entry_of_their_list(in_request: Flask, path: str, label: str) -> None:
    for groups in (workspace_navigation(path, (3, "vision-lab")), administrator_navigation(path)):
        current = [item.label for group in groups for item in group.items if item.is_current]
        assert current == [label] or (path.startswith("/workspaces/3/") and current == ["Workspaces"])


def test_backups_have_an_entry_of_their_own(in_request: Flask) -> None:
    groups = administrator_navigation("/repairs/backups", {}, {"/repairs/backups": 1}, has_repairs=True)
    items = {item.href: item for group in groups for item in group.items}
    assert items["/repairs/backups"].is_current and not items["/repairs"].is_current
    assert items["/repairs/backups"].alert_count == 1


def test_the_menu_tells_the_most_that_needs_a_person() -> None:
    groups = mark_current_item("/", {}, {"/": 2, "/jobs": 3}, GROUPS)
    assert PageLayout("lab-a", "0.1.0", groups).alert_count == 3
    assert PageLayout("lab-a", "0.1.0").alert_count == 0
    assert NavigationUser("minji").initials == "MI"
