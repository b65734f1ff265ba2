"""Workspaces as an administrator makes them, and their people."""

from datetime import date, timedelta

from cluster.domain.people.actor import Actor
from cluster.domain.states import WorkspaceState
from cluster.domain.workspace_terms import workspace_state
from cluster.services.context import Cluster
from cluster.services.workspaces import lifecycle
from cluster.store.users import User
from cluster.store.workspaces import Workspace
from tests.builders import (
    a_user,
    actor_of,
    an_administrator,
)

TODAY = date(2026, 11, 20)


def create(
    cluster: Cluster,
    actor: Actor,
    name: str = "vision",
    manager: str = "minji",
    members: tuple[str, ...] = (),
    units: int = 2,
    starts: int = 0,
    ends: int = 10,
) -> Workspace:
    """Days count from today."""
    return lifecycle.create_workspace(
        cluster, actor, name, "", TODAY + timedelta(days=starts), TODAY + timedelta(days=ends),
        units, manager, members,
    )  # fmt: skip


def people(cluster: Cluster) -> tuple[Actor, User, User]:
    """An administrator, a manager and a member."""
    return actor_of(an_administrator(cluster, "root-hand")), a_user(cluster, "minji"), a_user(cluster, "jun")


def state_of(cluster: Cluster, workspace: Workspace) -> WorkspaceState:
    return workspace_state(workspace, cluster.clock(), cluster.settings.zone)
