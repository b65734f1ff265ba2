"""Workspaces hold units for a term; the sum of overlapping terms never exceeds the cluster."""

from datetime import timedelta
from typing import Any

import pytest

from cluster.domain.errors import Conflict, Forbidden, Refused
from cluster.domain.states import UserState, WorkspaceState
from cluster.services.context import Cluster
from cluster.services.people import users
from cluster.services.workspaces import lifecycle, queries
from cluster.store.workspaces import Workspace
from tests.audit_entries import entries
from tests.builders import (
    a_node,
    a_user,
    a_workspace,
    actor_of,
)
from tests.conftest import RecordingBell
from tests.simultaneous_calls import at_once
from tests.store.workspace_setup import TODAY, create, people, state_of


def test_a_workspace_is_created_with_its_people(cluster: Cluster, bell: RecordingBell) -> None:
    administrator, minji, jun = people(cluster)
    a_node(cluster, units=2)
    made = create(cluster, administrator, members=("jun", " jun ", "minji", ""))
    seen = queries.read_workspace(cluster, actor_of(jun), made.id)
    assert seen.manager.name == "minji"
    assert [member.name for member in seen.members] == ["jun", "minji"]
    assert (seen.units, seen.version, seen.colour) == (2, 1, 1)
    assert state_of(cluster, seen) is WorkspaceState.ACTIVE
    assert bell.rung == [("workspaces", made.id)]
    entry = entries(cluster)[-1]
    assert (entry.action, entry.object_id, entry.data["units"]) == ("workspace.created", made.id, 2)


@pytest.mark.parametrize(
    ("changes", "field", "code"),
    [
        ({"name": ""}, "name", "name.missing"),
        ({"name": "ai"}, "name", "name.too_short"),
        ({"name": "비전"}, "name", "name.bad_character"),
        ({"name": "taken"}, "name", "workspace.name_taken"),
        ({"manager": "nobody-here"}, "manager", "user.unknown"),
        ({"manager": ""}, "manager", "user.unknown"),
        ({"manager": "gone"}, "manager", "user.not_active"),
        ({"manager": "groundcrew"}, "manager", "user.unknown"),
        ({"members": ("jun", "nobody-here")}, "members", "user.unknown"),
        ({"members": ("\0" * 50_000,)}, "members", "user.unknown"),
        ({"members": ("gone",)}, "members", "user.not_active"),
        ({"units": -1}, "units", "workspace.units_negative"),
        ({"units": 3}, "units", "workspace.units_over_capacity"),
        ({"units": 10**30}, "units", "workspace.units_over_capacity"),
        ({"starts": 5, "ends": 4}, "ends_on", "term.ends_before_start"),
        ({"starts": -5, "ends": -1}, "ends_on", "term.in_the_past"),
        ({"ends": 5000}, "ends_on", "term.too_long"),
    ],
)
def test_a_workspace_that_breaks_a_rule_is_refused(
    cluster: Cluster, changes: dict[str, Any], field: str, code: str
) -> None:
    administrator, _, _ = people(cluster)
    a_node(cluster, units=2)
    a_user(cluster, "gone", state=UserState.DISABLED)
    a_user(cluster, "groundcrew", state=UserState.SERVICE)
    a_workspace(cluster, name="taken", units=0)
    with pytest.raises(Refused) as refusal:
        create(cluster, administrator, **changes)
    assert (refusal.value.field, refusal.value.code) == (field, code)
    assert [row.name for row in queries.list_workspaces(cluster, administrator)] == ["taken"]


def test_an_unknown_member_is_named(cluster: Cluster) -> None:
    administrator, _, _ = people(cluster)
    with pytest.raises(Refused) as refusal:
        create(cluster, administrator, units=0, members=("jun", "sorra"))
    assert refusal.value.data == {"name": "sorra"}


def test_the_service_user_may_manage_what_it_creates_itself(cluster: Cluster) -> None:
    service = users.service_actor(cluster)
    assert create(cluster, service, units=0, manager="groundcrew").manager.name == "groundcrew"


def test_of_workspaces_that_race_for_the_last_units_one_wins(cluster: Cluster) -> None:
    administrator, _, _ = people(cluster)
    a_node(cluster, units=3)
    results = at_once(
        *(
            lambda number=number: create(cluster, administrator, f"race-{number}", units=2)
            for number in range(6)
        )
    )
    assert sum(isinstance(result, Workspace) for result in results) == 1
    refusals = {result.code for result in results if isinstance(result, Refused)}
    assert refusals == {"workspace.units_over_capacity"}
    assert lifecycle.max_units_for_term(cluster, TODAY, TODAY) == 1


def test_one_name_is_given_once(cluster: Cluster) -> None:
    administrator, _, _ = people(cluster)
    results = at_once(*[lambda: create(cluster, administrator, units=0)] * 3)
    assert sorted(type(result).__name__ for result in results) == ["Refused", "Refused", "Workspace"]


def test_colours_go_round(cluster: Cluster) -> None:
    administrator, _, _ = people(cluster)
    colours = [create(cluster, administrator, f"space-{number}", units=0).colour for number in range(8)]
    assert colours == [1, 2, 3, 4, 5, 6, 1, 2]


# Who sees and who may


def test_the_manager_changes_description_and_members_alone(cluster: Cluster) -> None:
    administrator, minji, jun = people(cluster)
    a_node(cluster, units=4)
    workspace = create(cluster, administrator, units=2)
    manager = actor_of(minji)
    edited = lifecycle.edit_workspace(
        cluster, manager, workspace.id, 1,
        name="vision", description=" Pictures of pallets ", starts_on=TODAY, units=2, member_names=["jun"],
    )  # fmt: skip
    assert edited.description == "Pictures of pallets"
    assert [member.name for member in edited.members] == ["jun", "minji"]
    assert entries(cluster)[-1].data == {
        "description": ["", "Pictures of pallets"],
        "members": [["minji"], ["jun", "minji"]],
    }
    for change in (
        {"name": "other"},
        {"units": 3},
        {"units": 1},
        {"ends_on": TODAY + timedelta(days=30)},
        {"manager_name": "jun"},
    ):
        with pytest.raises(Forbidden):
            lifecycle.edit_workspace(cluster, manager, workspace.id, edited.version, **change)  # type: ignore[arg-type]
    assert queries.read_workspace(cluster, actor_of(jun), workspace.id).version == edited.version


# Changing


def test_who_saw_an_old_version_is_told(cluster: Cluster) -> None:
    administrator, minji, _ = people(cluster)
    workspace = create(cluster, administrator, units=0)
    first = lifecycle.edit_workspace(cluster, administrator, workspace.id, 1, member_names=["jun"])
    assert first.version == 2
    unchanged = lifecycle.edit_workspace(cluster, administrator, workspace.id, 2, member_names=["jun"])
    assert unchanged.version == 2
    with pytest.raises(Conflict, match=r"workspace\.changed"):
        lifecycle.edit_workspace(cluster, actor_of(minji), workspace.id, 1, description="late")
    assert entries(cluster)[-1].action == "workspace.edited"
    assert len(entries(cluster)) == 2


def test_of_two_edits_of_one_version_one_wins(cluster: Cluster) -> None:
    administrator, _, _ = people(cluster)
    workspace = create(cluster, administrator, units=0)
    results = at_once(
        *(
            lambda text=text: lifecycle.edit_workspace(
                cluster, administrator, workspace.id, 1, description=text
            )
            for text in ("one", "two", "three")
        )
    )
    assert sorted(type(result).__name__ for result in results) == ["Conflict", "Conflict", "Workspace"]


def test_everything_about_a_workspace_can_change(cluster: Cluster) -> None:
    administrator, _, jun = people(cluster)
    a_node(cluster, units=4)
    workspace = create(cluster, administrator, units=2)
    edited = lifecycle.edit_workspace(
        cluster, administrator, workspace.id, 1,
        name="sight", starts_on=TODAY + timedelta(days=1), ends_on=TODAY + timedelta(days=90),
        units=4, manager_name="jun", member_names=[],
    )  # fmt: skip
    assert (edited.name, edited.units, edited.manager_id, edited.version) == ("sight", 4, jun.id, 2)
    assert [member.name for member in edited.members] == ["jun"]
    assert state_of(cluster, edited) is WorkspaceState.SCHEDULED
    for wrong, code in (
        ({"units": 5}, "workspace.units_over_capacity"),
        ({"units": -1}, "workspace.units_negative"),
        ({"ends_on": TODAY - timedelta(days=1)}, "term.ends_before_start"),
        ({"name": "a"}, "name.too_short"),
        ({"name": ""}, "name.missing"),
        ({"manager_name": ""}, "user.unknown"),
        ({"manager_name": "nobody-here"}, "user.unknown"),
        ({"description": "x" * 501}, "text.too_long"),
    ):
        with pytest.raises(Refused) as refusal:
            lifecycle.edit_workspace(cluster, administrator, workspace.id, 2, **wrong)  # type: ignore[arg-type]
        assert refusal.value.code == code
    assert queries.read_workspace(cluster, administrator, workspace.id).version == 2


def test_a_cluster_that_lost_units_lets_people_hold_less(cluster: Cluster) -> None:
    administrator, _, _ = people(cluster)
    a_node(cluster, units=1)
    workspace = a_workspace(cluster, units=4)
    edit = lifecycle.edit_workspace
    assert edit(cluster, administrator, workspace.id, 1, units=3).units == 3
    assert edit(cluster, administrator, workspace.id, 2, description="small").version == 3
    with pytest.raises(Refused, match=r"units_over_capacity"):
        edit(cluster, administrator, workspace.id, 3, ends_on=workspace.ends_on + timedelta(days=1))


def test_who_is_disabled_may_stay_a_member(cluster: Cluster) -> None:
    administrator, _, jun = people(cluster)
    workspace = create(cluster, administrator, units=0, members=("jun",))
    users.disable_user(cluster, administrator, jun.id)
    names = ["jun", "minji"]
    edited = lifecycle.edit_workspace(cluster, administrator, workspace.id, 1, member_names=names)
    assert [member.name for member in edited.members] == names
