"""An outage of the container engine is recorded once, told to administrators, and taken back."""

from datetime import timedelta

import pytest

from cluster.services.context import Cluster
from cluster.services.leases import HeldLease, LeaseLost, acquire_lease
from cluster.services.nodes.executor_outage import read_executor_outage, record_executor_outage
from tests.conftest import Clock, RecordingBell

LASTS = timedelta(seconds=10)
SAID = {"socket": "/run/docker.sock"}


@pytest.fixture
def held(cluster: Cluster) -> HeldLease:
    found = acquire_lease(cluster, "scheduler", "one", LASTS)
    assert found
    return found


def test_silence_is_noted_once_with_its_beginning(
    cluster: Cluster, held: HeldLease, clock: Clock, bell: RecordingBell
) -> None:
    assert read_executor_outage(cluster) is None
    assert not record_executor_outage(cluster, held, None, {})
    assert record_executor_outage(cluster, held, "engine.silent", SAID)
    assert bell.rung == [("nodes", 0)]
    began = clock.now
    clock.move(seconds=5)
    assert not record_executor_outage(cluster, held, "engine.silent", SAID)
    known = read_executor_outage(cluster)
    assert known and (known.code, known.data, known.since) == ("engine.silent", SAID, began)
    assert record_executor_outage(cluster, held, None, {})
    assert read_executor_outage(cluster) is None


def test_who_lost_the_lease_notes_nothing(cluster: Cluster, held: HeldLease, clock: Clock) -> None:
    clock.move(hours=1)
    assert acquire_lease(cluster, "scheduler", "another", LASTS)
    with pytest.raises(LeaseLost):
        record_executor_outage(cluster, held, "engine.silent", SAID)
