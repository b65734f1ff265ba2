"""A heartbeat updates the node's row and its units."""

from sqlalchemy import select

from cluster.domain.states import JobState, NodeState, UnitKind
from cluster.services.context import Cluster
from cluster.services.nodes import heartbeats, queries
from cluster.services.nodes.heartbeats import ReportedUnit
from cluster.store.nodes import Node, Unit
from tests.builders import a_job, a_node, a_training, a_user, a_workspace, actor_of, holding
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


def offered(cluster: Cluster, node_id: int) -> list[str]:
    view = queries.read_node(cluster, actor_of(a_user(cluster)), node_id)
    return [unit.unit.identity for unit in view.units]


def test_beside_gpus_of_other_nodes_a_master_without_one_has_no_units(cluster: Cluster) -> None:
    """Jobs that are to compute on GPUs were placed on its processors."""
    master = beat(cluster)
    assert offered(cluster, master) == ["cpu-0", "cpu-1"]
    worker = a_node(cluster, 4, kind=UnitKind.GPU)
    beat(cluster)
    assert offered(cluster, master) == [] and queries.count_working_units(cluster) == 4
    # The worker only reports: as processes jobs run on the master alone.
    with cluster.store.write() as session:
        session.get_one(Node, worker.id).has_executor = False
    beat(cluster)
    assert offered(cluster, master) == ["cpu-0", "cpu-1"]


def test_a_slot_that_a_job_holds_stays_until_it_is_free(cluster: Cluster) -> None:
    master = beat(cluster)
    with cluster.store.read() as session:
        held = session.scalars(select(Unit).where(Unit.node_id == master).order_by(Unit.position)).first()
    assert held is not None
    job = a_job(cluster, a_training(cluster, a_workspace(cluster)), state=JobState.RUNNING)
    holding(cluster, job, [held])
    a_node(cluster, 4, kind=UnitKind.GPU)
    beat(cluster)
    assert offered(cluster, master) == ["cpu-0"]
