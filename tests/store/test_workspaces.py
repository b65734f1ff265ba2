"""Workspaces hold units for a term; the sum of overlapping terms never exceeds the cluster."""

from datetime import date, timedelta

from cluster.domain.people import Actor
from cluster.domain.states import WorkspaceState
from cluster.domain.terms import workspace_state
from cluster.services import workspaces
from cluster.services.context import Cluster
from cluster.store.users import User
from cluster.store.workspaces import Workspace
from tests.builders import (
    a_node,
    a_user,
    actor_of,
    an_administrator,
)
from tests.conftest import RecordingBell
from tests.entries import entries

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
    return workspaces.create_workspace(
        cluster, actor, name, "", TODAY + timedelta(days=starts), TODAY + timedelta(days=ends),
        units, manager, members,
    )  # fmt: skip


def people(cluster: Cluster) -> tuple[Actor, User, User]:
    """An administrator, a manager and a member."""
    return actor_of(an_administrator(cluster, "root-hand")), a_user(cluster, "minji"), a_user(cluster, "jun")


def state_of(cluster: Cluster, workspace: Workspace) -> WorkspaceState:
    return workspace_state(workspace, cluster.clock(), cluster.settings.zone)


def test_a_workspace_is_created_with_its_people(cluster: Cluster, bell: RecordingBell) -> None:
    administrator, minji, jun = people(cluster)
    a_node(cluster, units=2)
    made = create(cluster, administrator, members=("jun", " jun ", "minji", ""))
    seen = workspaces.read_workspace(cluster, actor_of(jun), made.id)
    assert seen.manager.name == "minji"
    assert [member.name for member in seen.members] == ["jun", "minji"]
    assert (seen.units, seen.version, seen.colour) == (2, 1, 1)
    assert state_of(cluster, seen) is WorkspaceState.ACTIVE
    assert bell.rung == [("workspaces", made.id)]
    entry = entries(cluster)[-1]
    assert (entry.action, entry.object_id, entry.data["units"]) == ("workspace.created", made.id, 2)
