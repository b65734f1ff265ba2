"""The night's backup is asked for once, and what went wrong with it is known the same night."""

from dataclasses import replace
from datetime import time, timedelta

import pytest
from sqlalchemy import select

from cluster.domain.states import OperationKind
from cluster.services.backups import requests
from cluster.services.context import Cluster
from cluster.services.leases import HeldLease, LeaseLost, acquire_lease
from cluster.store.operations import Operation
from tests.conftest import Clock


@pytest.fixture
def nightly(cluster: Cluster) -> Cluster:
    """Its clock stands at 14:00 in Seoul; backups are made at 03:00."""
    return replace(cluster, settings=replace(cluster.settings, backup_at=time(3, 0)))


@pytest.fixture
def held(nightly: Cluster) -> HeldLease:
    lease = acquire_lease(nightly, "scheduler", "me", timedelta(days=30))
    assert lease is not None
    return lease


def test_a_new_installation_owes_nothing_and_then_each_night_once(
    nightly: Cluster, held: HeldLease, clock: Clock
) -> None:
    assert requests.request_nightly_backup(nightly, held) is None
    clock.move(hours=12)
    assert requests.request_nightly_backup(nightly, held) is None
    clock.move(hours=1)
    operation = requests.request_nightly_backup(nightly, held)
    assert operation is not None and operation.kind == OperationKind.BACKUP
    assert requests.request_nightly_backup(nightly, held) is None
    clock.move(days=5)
    assert requests.request_nightly_backup(nightly, held) is not None
    assert requests.request_nightly_backup(nightly, held) is None
    with nightly.store.read() as session:
        assert len(session.scalars(select(Operation)).all()) == 2


def test_who_has_lost_the_lease_asks_for_nothing(nightly: Cluster, held: HeldLease, clock: Clock) -> None:
    requests.request_nightly_backup(nightly, held)
    clock.move(days=1)
    with pytest.raises(LeaseLost):
        requests.request_nightly_backup(nightly, replace(held, fence=held.fence + 1))
    assert requests.request_nightly_backup(nightly, held) is not None


def test_without_a_time_no_backup_is_asked_for(cluster: Cluster, held: HeldLease, clock: Clock) -> None:
    clock.move(days=3)
    assert requests.request_nightly_backup(cluster, held) is None
