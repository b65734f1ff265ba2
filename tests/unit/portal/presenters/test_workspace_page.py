"""Workspaces by the installation's clock."""

from datetime import UTC, date, datetime

import pytest
from flask import Flask

from cluster.domain.states import WorkspaceState
from cluster.store.workspaces import Workspace
from portal.presenters import workspace_page

TODAY = date(2026, 11, 20)
FUTURE, SOON, LATER, PAST = date(2026, 12, 1), date(2026, 11, 27), date(2027, 6, 1), date(2026, 11, 1)


def a_workspace(name: str, starts_on: date, ends_on: date, ended_at: datetime | None = None) -> Workspace:
    return Workspace(name=name, starts_on=starts_on, ends_on=ends_on, ended_at=ended_at)


ROWS = [
    a_workspace("old", PAST, PAST),
    a_workspace("vision", PAST, SOON),
    a_workspace("audio", PAST, LATER),
    a_workspace("next", FUTURE, LATER),
    a_workspace("closed", PAST, LATER, datetime(2026, 11, 10, tzinfo=UTC)),
]


def names(rows: list[Workspace]) -> list[str]:
    return [row.name for row in rows]


def test_the_day_is_that_of_the_installation(in_request: Flask) -> None:
    assert workspace_page.today() == TODAY


@pytest.mark.parametrize(
    ("row", "state"),
    list(zip(ROWS, ["expired", "active", "active", "scheduled", "expired"], strict=True)),
    ids=names(ROWS),
)
def test_the_state_of_a_workspace(in_request: Flask, row: Workspace, state: str) -> None:
    assert workspace_page.state_now(row) is WorkspaceState(state)


def test_active_ones_come_first_and_only_those_end_soon(in_request: Flask) -> None:
    assert names(workspace_page.sort_by_state(ROWS)) == ["audio", "vision", "next", "closed", "old"]
    assert names(workspace_page.ending_workspaces(ROWS)) == ["vision"]
    assert names(workspace_page.active_workspaces(ROWS)) == ["vision", "audio", "next"]
    assert workspace_page.days_left(ROWS[1]) == 7
