"""The state of workspaces today by the installation's clock, and which of them end soon."""

from collections.abc import Iterable
from datetime import date
from typing import TypeVar

from flask import Flask

from cluster.domain import workspace_terms
from cluster.domain.states import WorkspaceState
from cluster.domain.workspace_terms import HasTerm
from cluster.store.workspaces import Workspace
from portal.web.request_context import current_cluster

WithTerm = TypeVar("WithTerm", bound=HasTerm)
ENDS_SOON_DAYS = 45
ENDING_SHOWN = 5


def init_app(app: Flask) -> None:
    app.add_template_global(lambda workspace: state_now(workspace).value, "workspace_state")
    app.add_template_global(days_left)


def today() -> date:
    return current_cluster().clock().astimezone(current_cluster().settings.zone).date()


def state_now(workspace: HasTerm) -> WorkspaceState:
    cluster = current_cluster()
    return workspace_terms.workspace_state(workspace, cluster.clock(), cluster.settings.zone)


def days_left(workspace: HasTerm) -> int:
    cluster = current_cluster()
    return workspace_terms.days_left(workspace, cluster.clock(), cluster.settings.zone)


def active_workspaces(workspaces: Iterable[WithTerm]) -> list[WithTerm]:
    """The workspaces that have not ended."""
    return [workspace for workspace in workspaces if state_now(workspace) is not WorkspaceState.EXPIRED]


def ending_workspaces(workspaces: Iterable[WithTerm]) -> list[WithTerm]:
    """Lists active workspaces that end within weeks, the soonest first."""
    ending = [
        workspace
        for workspace in workspaces
        if state_now(workspace) is WorkspaceState.ACTIVE and days_left(workspace) <= ENDS_SOON_DAYS
    ]
    return sorted(ending, key=lambda workspace: workspace.ends_on)[:ENDING_SHOWN]


def sort_by_state(workspaces: Iterable[Workspace]) -> list[Workspace]:
    """Sorts active workspaces first and ended ones last, and by name within a state."""
    order = [WorkspaceState.ACTIVE, WorkspaceState.SCHEDULED, WorkspaceState.EXPIRED]
    return sorted(workspaces, key=lambda workspace: (order.index(state_now(workspace)), workspace.name))
