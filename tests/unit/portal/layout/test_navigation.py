"""The navigation marks the entry of the page that is shown, with its counts."""

import pytest

from portal.layout.navigation import (
    NavigationGroup,
    NavigationItem,
    NavigationUser,
    PageLayout,
    mark_current_item,
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


def test_the_menu_tells_the_most_that_needs_a_person() -> None:
    groups = mark_current_item("/", {}, {"/": 2, "/jobs": 3}, GROUPS)
    assert PageLayout("lab-a", "0.1.0", groups).alert_count == 3
    assert PageLayout("lab-a", "0.1.0").alert_count == 0
    assert NavigationUser("minji").initials == "MI"
