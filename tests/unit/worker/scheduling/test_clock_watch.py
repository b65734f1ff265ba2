"""A clock that is set holds expiry back for the time of one lease."""

import pytest

from cluster.services.context import Cluster
from cluster.services.leases import SCHEDULER_LEASE_DURATION, HeldLease
from cluster.store.nodes import Node
from tests.builders import a_node
from tests.conftest import Clock
from worker.scheduling.clock_watch import ClockWatch
from worker.scheduling.scheduler_lease import acquire_scheduler_lease


@pytest.fixture
def held(light_cluster: Cluster) -> HeldLease:
    lease = acquire_scheduler_lease(light_cluster, "a scheduler")
    assert lease is not None
    return lease


@pytest.mark.parametrize(
    ("wall_seconds", "steady_seconds", "is_settled"),
    [(60.0, 60.0, True), (20.0, 0.0, True), (3600.0, 1.0, False), (-3600.0, 1.0, False)],
)
def test_only_a_jump_of_the_clock_holds_expiry_back(
    light_cluster: Cluster, held: HeldLease, wall_seconds: float, steady_seconds: float, is_settled: bool
) -> None:
    steady = [0.0]
    watch = ClockWatch(light_cluster, lambda: steady[-1])
    move(light_cluster, wall_seconds)
    steady.append(steady_seconds)
    watch.check(held)
    assert watch.is_settled is is_settled
    steady.append(steady_seconds + SCHEDULER_LEASE_DURATION.total_seconds())
    move(light_cluster, SCHEDULER_LEASE_DURATION.total_seconds())
    watch.check(held)
    assert watch.is_settled


def test_no_heartbeat_lies_in_the_future_after_the_clock_was_set_back(
    light_cluster: Cluster, held: HeldLease
) -> None:
    node = a_node(light_cluster)
    watch = ClockWatch(light_cluster, lambda: 0.0)
    move(light_cluster, -3600.0)
    watch.check(held)
    with light_cluster.store.read() as session:
        assert session.get_one(Node, node.id).heartbeat_at == light_cluster.clock()


def move(cluster: Cluster, seconds: float) -> None:
    assert isinstance(cluster.clock, Clock)
    cluster.clock.move(seconds=seconds)
