"""A workspace is shown to its members alone, with the units that it uses."""

from datetime import date

import pytest

from cluster.domain.errors import Forbidden, NotFound
from cluster.domain.states import JobState
from cluster.services.context import Cluster
from cluster.services.workspaces import lifecycle, queries
from tests.builders import (
    a_job,
    a_node,
    a_training,
    a_user,
    actor_of,
    holding,
)
from tests.store.workspace_setup import create, people


def test_strangers_find_nothing_and_members_may_not_change(cluster: Cluster) -> None:
    administrator, minji, jun = people(cluster)
    workspace = create(cluster, administrator, units=0, members=("jun",))
    stranger = actor_of(a_user(cluster))
    assert queries.list_workspaces(cluster, stranger) == []
    for actor, error in ((stranger, NotFound), (actor_of(jun), Forbidden)):
        for act in (
            lambda actor=actor: lifecycle.edit_workspace(cluster, actor, workspace.id, 1, description="x"),
            lambda actor=actor: lifecycle.end_workspace(cluster, actor, workspace.id),
            lambda actor=actor: lifecycle.extend_workspace(cluster, actor, workspace.id, date(2027, 1, 1)),
        ):
            with pytest.raises(error):
                act()
    with pytest.raises(NotFound):
        queries.read_workspace(cluster, stranger, workspace.id)
    with pytest.raises(NotFound):
        queries.read_workspace(cluster, administrator, 999)
    with pytest.raises(Forbidden):
        create(cluster, actor_of(minji), "another")
    with pytest.raises(Forbidden):
        lifecycle.extend_workspace(cluster, actor_of(minji), workspace.id, date(2027, 1, 1))
    assert [row.name for row in queries.list_workspaces(cluster, actor_of(jun))] == ["vision"]


def test_fewer_units_than_are_in_use_are_allowed(cluster: Cluster) -> None:
    administrator, _, _ = people(cluster)
    node = a_node(cluster, units=2)
    workspace = create(cluster, administrator, units=2)
    idle = create(cluster, administrator, "idle", units=0)
    job = a_job(cluster, a_training(cluster, workspace), units=2, state=JobState.RUNNING)
    holding(cluster, job, node.units)
    edited = lifecycle.edit_workspace(cluster, administrator, workspace.id, 1, units=1)
    assert edited.units == 1
    notice = queries.read_quota_notice(cluster, edited)
    assert notice == ("workspace.units_below_use", {"in_use": 2, "units": 1, "kind": "cpu_slot"})
    assert queries.read_quota_notice(cluster, idle) is None
    assert queries.read_units_in_use_of(cluster, [workspace.id, idle.id]) == {workspace.id: 2, idle.id: 0}
