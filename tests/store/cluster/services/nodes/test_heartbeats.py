"""A heartbeat updates the node's row and its units."""

from cluster.domain.states import NodeState, UnitKind
from cluster.services.context import Cluster
from cluster.services.nodes import heartbeats, queries
from cluster.services.nodes.heartbeats import ReportedUnit
from tests.builders import a_node, a_user, actor_of
from tests.conftest import Clock, RecordingBell

SLOTS = [ReportedUnit(f"cpu-{position}", UnitKind.CPU_SLOT, position) for position in range(2)]


def beat(cluster: Cluster, units: list[ReportedUnit] = SLOTS, boot_id: str = "boot") -> int:
    return heartbeats.record_heartbeat(cluster, "gpu01", boot_id, {"cpus": 2}, units).id


def test_a_heartbeat_makes_the_node_and_its_units_known(cluster: Cluster, bell: RecordingBell) -> None:
    node_id = beat(cluster)
    view = queries.read_node(cluster, actor_of(a_user(cluster)), node_id)
    assert (view.name, view.state, view.kind) == ("gpu01", NodeState.READY, UnitKind.CPU_SLOT)
    assert [unit.unit.identity for unit in view.units] == ["cpu-0", "cpu-1"]
    assert view.facts == {"cpus": 2}
    assert queries.count_working_units(cluster) == 2
    assert ("nodes", node_id) in bell.rung


def test_an_unchanged_heartbeat_rings_nobody(cluster: Cluster, bell: RecordingBell, clock: Clock) -> None:
    beat(cluster)
    bell.rung.clear()
    clock.move(seconds=5)
    beat(cluster)
    assert bell.rung == []
    clock.move(seconds=60)
    beat(cluster)
    assert bell.rung


def test_a_unit_that_vanishes_is_gone_and_comes_back(cluster: Cluster) -> None:
    actor = actor_of(a_user(cluster))
    node_id = beat(cluster)
    beat(cluster, SLOTS[:1])
    assert [unit.unit.identity for unit in queries.read_node(cluster, actor, node_id).units] == ["cpu-0"]
    assert queries.count_working_units(cluster) == 1
    beat(cluster)
    assert queries.count_working_units(cluster) == 2


def test_a_node_without_an_executor_offers_no_units(cluster: Cluster) -> None:
    node = a_node(cluster, 4, has_executor=False)
    assert queries.count_working_units(cluster) == 0
    assert queries.read_node(cluster, actor_of(a_user(cluster)), node.id).state is NodeState.NO_EXECUTOR
