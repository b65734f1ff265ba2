"""Each node is shown with what it offers and what is taken."""

import pytest

from cluster.domain.errors import NotFound
from cluster.domain.states import JobState, NodeState, UnitKind, UnitState
from cluster.services.context import Cluster
from cluster.services.nodes import heartbeats, queries
from cluster.services.nodes.heartbeats import ReportedUnit
from tests.builders import a_job, a_node, a_training, a_user, a_workspace, actor_of, holding
from tests.conftest import Clock

SLOTS = [ReportedUnit(f"cpu-{position}", UnitKind.CPU_SLOT, position) for position in range(2)]


def beat(cluster: Cluster, units: list[ReportedUnit] = SLOTS, boot_id: str = "boot") -> int:
    return heartbeats.record_heartbeat(cluster, "gpu01", boot_id, {"cpus": 2}, units).id


def test_a_broken_unit_is_shown_and_not_offered(cluster: Cluster) -> None:
    broken = ReportedUnit("cpu-1", UnitKind.CPU_SLOT, 1, state=UnitState.BROKEN)
    node_id = beat(cluster, [SLOTS[0], broken])
    view = queries.read_node(cluster, actor_of(a_user(cluster)), node_id)
    assert [unit.is_free for unit in view.units] == [True, False]
    assert queries.count_working_units(cluster) == 1


def test_a_silent_node_is_unreachable_and_keeps_its_booking(cluster: Cluster, clock: Clock) -> None:
    node = a_node(cluster, 2)
    job = a_job(cluster, a_training(cluster, a_workspace(cluster)), state=JobState.RUNNING)
    holding(cluster, job, node.units[:1])
    clock.move(minutes=1)
    view = queries.read_node(cluster, actor_of(a_user(cluster)), node.id)
    assert view.state is NodeState.UNREACHABLE
    assert [unit.job_id for unit in view.units] == [job.id, None]


def test_everybody_sees_what_is_taken_but_not_by_whom(cluster: Cluster) -> None:
    manager, stranger = a_user(cluster), a_user(cluster)
    node = a_node(cluster, 2)
    job = a_job(cluster, a_training(cluster, a_workspace(cluster, manager)), state=JobState.RUNNING)
    holding(cluster, job, node.units[:1])
    seen = queries.list_nodes(cluster, actor_of(manager))[0].units[0]
    assert seen.job is not None and seen.job.workspace.manager_id == manager.id
    hidden = queries.list_nodes(cluster, actor_of(stranger))[0].units[0]
    assert (hidden.job_id, hidden.job) == (job.id, None)


def test_an_unknown_node_is_not_found(cluster: Cluster) -> None:
    with pytest.raises(NotFound):
        queries.read_node(cluster, actor_of(a_user(cluster)), 7)
