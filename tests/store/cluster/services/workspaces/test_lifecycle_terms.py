"""Terms hold units from one day to another; they begin, end and are extended."""

from datetime import datetime, timedelta

import pytest

from cluster.domain.errors import Conflict, Refused
from cluster.domain.states import UnitKind, UnitState, WorkspaceState
from cluster.services.context import Cluster
from cluster.services.people import access
from cluster.services.workspaces import lifecycle, queries
from cluster.store.nodes import Node
from tests.builders import (
    a_node,
    actor_of,
)
from tests.conftest import Clock
from tests.simultaneous_calls import at_once
from tests.store.workspace_setup import TODAY, create, people, state_of


def test_overlapping_terms_fit_into_the_cluster(cluster: Cluster) -> None:
    administrator, _, _ = people(cluster)
    a_node(cluster, units=3, kind=UnitKind.GPU)
    create(cluster, administrator, "first", units=2, starts=0, ends=10)
    with pytest.raises(Refused) as refusal:
        create(cluster, administrator, "second", units=2, starts=10, ends=20)
    assert refusal.value.data == {
        "units": 2, "capacity": 3, "held": 2, "left": 1, "worst_day": "2026-11-30", "kind": "gpu",
    }  # fmt: skip
    assert lifecycle.max_units_for_term(cluster, TODAY + timedelta(days=10), TODAY + timedelta(days=20)) == 1
    assert lifecycle.max_units_for_term(cluster, TODAY + timedelta(days=11), TODAY + timedelta(days=20)) == 3
    create(cluster, administrator, "second", units=2, starts=11, ends=20)
    create(cluster, administrator, "third", units=1, starts=0, ends=30)


def test_only_units_that_can_run_something_count(cluster: Cluster) -> None:
    administrator, _, _ = people(cluster)
    a_node(cluster, units=1)
    a_node(cluster, units=4, has_executor=False)
    a_node(cluster, units=4, state=UnitState.BROKEN)
    with pytest.raises(Refused) as refusal:
        create(cluster, administrator, units=2)
    assert (refusal.value.data["capacity"], refusal.value.data["kind"]) == (1, "cpu_slot")
    create(cluster, administrator, units=1)


def test_units_of_nodes_that_are_silent_lost_or_drained_stay_granted(cluster: Cluster, clock: Clock) -> None:
    administrator, _, _ = people(cluster)
    silent, lost, drained = (a_node(cluster, units=1) for _ in range(3))
    with cluster.store.write() as session:
        session.get_one(Node, silent.id).heartbeat_at = clock.now - timedelta(hours=1)
        session.get_one(Node, lost.id).lost_at = clock.now
        session.get_one(Node, drained.id).draining_since = clock.now
    create(cluster, administrator, "granted", units=3)
    with pytest.raises(Refused, match="units_over_capacity"):
        create(cluster, administrator, "more", units=1)


def test_of_an_extension_and_a_new_workspace_one_gets_the_units(cluster: Cluster) -> None:
    administrator, _, _ = people(cluster)
    a_node(cluster, units=2)
    present = create(cluster, administrator, "present", ends=5)
    results = at_once(
        lambda: lifecycle.extend_workspace(cluster, administrator, present.id, TODAY + timedelta(days=9)),
        lambda: create(cluster, administrator, "newcomer", starts=6, ends=9),
    )
    assert sorted(type(result).__name__ for result in results) == ["Refused", "Workspace"]


def test_a_term_begins_and_ends_with_the_day_of_the_installation(cluster: Cluster, clock: Clock) -> None:
    administrator, _, _ = people(cluster)
    workspace = create(cluster, administrator, units=0, starts=1, ends=1)
    states = []
    # Midnight in Seoul is 15:00 UTC.
    for now in ("2026-11-20T14:59:59", "2026-11-20T15:00:00", "2026-11-21T14:59:59", "2026-11-21T15:00:00"):
        clock.now = datetime.fromisoformat(now + "+00:00")
        states.append(state_of(cluster, workspace))
    assert states == [
        WorkspaceState.SCHEDULED, WorkspaceState.ACTIVE, WorkspaceState.ACTIVE, WorkspaceState.EXPIRED,
    ]  # fmt: skip


def test_a_workspace_ended_now_stays_readable_and_frees_its_units(cluster: Cluster, clock: Clock) -> None:
    administrator, minji, _ = people(cluster)
    a_node(cluster, units=2)
    workspace = create(cluster, administrator, units=2)
    access.require_active_workspace(cluster, workspace, "workspace")
    ended = lifecycle.end_workspace(cluster, actor_of(minji), workspace.id)
    assert ended.ended_at == clock.now
    seen = queries.read_workspace(cluster, actor_of(minji), workspace.id)
    assert state_of(cluster, seen) is WorkspaceState.EXPIRED
    with pytest.raises(Refused) as refusal:
        access.require_active_workspace(cluster, seen, "training")
    assert (refusal.value.field, refusal.value.code) == ("training", "workspace.expired")
    with pytest.raises(Conflict, match=r"workspace\.ended"):
        lifecycle.end_workspace(cluster, administrator, workspace.id)
    with pytest.raises(Refused, match=r"workspace\.expired"):
        lifecycle.edit_workspace(cluster, actor_of(minji), workspace.id, seen.version, description="late")
    create(cluster, administrator, "next", units=2)


def test_an_ended_workspace_is_extended_where_there_is_room(cluster: Cluster) -> None:
    administrator, _, _ = people(cluster)
    a_node(cluster, units=2)
    workspace = create(cluster, administrator, units=2)
    lifecycle.end_workspace(cluster, administrator, workspace.id)
    extended = lifecycle.extend_workspace(cluster, administrator, workspace.id, TODAY + timedelta(days=3))
    assert (extended.ended_at, extended.ends_on) == (None, TODAY + timedelta(days=3))
    assert state_of(cluster, extended) is WorkspaceState.ACTIVE
    lifecycle.end_workspace(cluster, administrator, workspace.id)
    create(cluster, administrator, "next", units=1)
    with pytest.raises(Refused, match=r"units_over_capacity"):
        lifecycle.extend_workspace(cluster, administrator, workspace.id, TODAY + timedelta(days=3))


def test_an_expired_workspace_comes_back_for_the_days_to_come(cluster: Cluster, clock: Clock) -> None:
    administrator, _, _ = people(cluster)
    a_node(cluster, units=2)
    workspace = create(cluster, administrator, ends=2)
    create(cluster, administrator, "between", starts=3, ends=5)
    clock.move(days=6)
    back = lifecycle.extend_workspace(cluster, administrator, workspace.id, TODAY + timedelta(days=9))
    assert state_of(cluster, back) is WorkspaceState.ACTIVE


@pytest.mark.parametrize(
    ("days", "code"), [(10, "workspace.not_longer"), (9, "workspace.not_longer"), (9999, "term.too_long")]
)
def test_an_extension_is_longer(cluster: Cluster, days: int, code: str) -> None:
    administrator, _, _ = people(cluster)
    workspace = create(cluster, administrator, units=0, ends=10)
    with pytest.raises(Refused) as refusal:
        lifecycle.extend_workspace(cluster, administrator, workspace.id, TODAY + timedelta(days=days))
    assert (refusal.value.field, refusal.value.code) == ("ends_on", code)
