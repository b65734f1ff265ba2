"""The manifests of backups tell which of them are proved."""

from dataclasses import replace
from datetime import time, timedelta

import pytest

from cluster.domain.states import OperationState
from cluster.services.backups import manifests, requests
from cluster.services.context import Cluster
from cluster.services.leases import HeldLease, acquire_lease
from cluster.services.operations import lifecycle
from cluster.store.audit import add_audit_entry
from tests.builders import actor_of, an_administrator
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


def test_no_proof_is_said_once_a_night_has_passed(nightly: Cluster, held: HeldLease, clock: Clock) -> None:
    actor = actor_of(an_administrator(nightly))
    with nightly.store.write() as session:
        add_audit_entry(session, clock(), actor, "user.created", 1)
    assert not manifests.read_backup_status(nightly).is_too_old
    clock.move(hours=27)
    assert manifests.read_backup_status(nightly).is_too_old
    assert manifests.read_backup_status(nightly).last_verified is None


def test_the_newest_night_that_failed_is_known(nightly: Cluster, held: HeldLease, clock: Clock) -> None:
    requests.request_nightly_backup(nightly, held)
    clock.move(days=1)
    operation = requests.request_nightly_backup(nightly, held)
    assert operation is not None
    claimed = lifecycle.claim_operation(nightly, operation.id, "a worker")
    assert claimed is not None
    with nightly.store.write() as session:
        lifecycle.fail_operation(session, claimed.id, claimed.fence, clock(), "backup.none", {"folder": "/x"})
    failed = manifests.read_backup_status(nightly).failed
    assert failed is not None and failed.state is OperationState.FAILED
    clock.move(days=1)
    assert requests.request_nightly_backup(nightly, held) is not None
    assert manifests.read_backup_status(nightly).failed is None
