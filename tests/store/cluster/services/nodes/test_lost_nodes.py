"""A silent node is lost after its grace time."""

import pytest
from sqlalchemy import select

from cluster.domain.states import NodeState
from cluster.services.context import Cluster
from cluster.services.leases import HeldLease, LeaseLost, acquire_lease
from cluster.services.nodes import heartbeats, lost_nodes, queries
from cluster.store.nodes import Node
from tests.builders import a_node, a_user, actor_of
from tests.conftest import Clock, RecordingBell
from tests.store.conftest import LASTS


def state_of(cluster: Cluster, node: Node) -> NodeState:
    return queries.read_node(cluster, actor_of(a_user(cluster)), node.id).state


def test_a_silent_node_is_lost_after_its_grace_time_and_not_before(
    cluster: Cluster, held: HeldLease, clock: Clock, bell: RecordingBell
) -> None:
    node = a_node(cluster)
    clock.move(seconds=299)
    assert lost_nodes.mark_silent_nodes_lost(cluster, held) == []
    assert state_of(cluster, node) is NodeState.UNREACHABLE
    clock.move(seconds=1)
    assert lost_nodes.mark_silent_nodes_lost(cluster, held) == [node.id]
    assert state_of(cluster, node) is NodeState.LOST
    assert ("nodes", node.id) in bell.rung
    assert lost_nodes.mark_silent_nodes_lost(cluster, held) == []


def test_a_lost_node_that_speaks_is_welcome_only_when_the_scheduler_says_so(
    cluster: Cluster, held: HeldLease, clock: Clock
) -> None:
    """What ran there before may still run: new work would share its units with it."""
    node = a_node(cluster, name="gpu07")
    clock.move(seconds=300)
    lost_nodes.mark_silent_nodes_lost(cluster, held)
    assert lost_nodes.list_recovered_nodes(cluster) == []
    heartbeats.record_heartbeat(cluster, "gpu07", node.boot_id, {}, [])
    assert state_of(cluster, node) is NodeState.LOST
    assert lost_nodes.list_recovered_nodes(cluster) == [node.id]
    lost_nodes.return_to_service(cluster, held, [node.id])
    assert state_of(cluster, node) is NodeState.READY


def test_a_clock_that_was_set_back_hides_no_silent_node(
    cluster: Cluster, held: HeldLease, clock: Clock
) -> None:
    node = a_node(cluster)
    clock.move(hours=-1)
    lost_nodes.correct_future_heartbeats(cluster, held)
    assert state_of(cluster, node) is NodeState.READY
    clock.move(seconds=300)
    assert lost_nodes.mark_silent_nodes_lost(cluster, held) == [node.id]


def test_who_lost_the_lease_gives_nobody_up(cluster: Cluster, held: HeldLease, clock: Clock) -> None:
    a_node(cluster)
    clock.move(seconds=400)
    assert acquire_lease(cluster, "scheduler", "two", LASTS)
    with pytest.raises(LeaseLost):
        lost_nodes.mark_silent_nodes_lost(cluster, held)
    with cluster.store.read() as session:
        assert session.scalars(select(Node)).one().lost_at is None
