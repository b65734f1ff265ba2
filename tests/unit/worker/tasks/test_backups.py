"""The nightly operation makes and proves a backup, checks the older ones and deletes the surplus."""

from dataclasses import replace
from datetime import time, timedelta

import pytest

from cluster.domain.states import OperationState
from cluster.services.backups import manifests, requests
from cluster.services.context import Cluster
from cluster.services.leases import HeldLease, acquire_lease
from cluster.store.operations import Operation
from tests.conftest import Clock
from worker.backups import dump
from worker.backups.drill import no_scratch_check
from worker.tasks import backups as task
from worker.tasks.run import run_claimed


@pytest.fixture
def lab(light_cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> Cluster:
    monkeypatch.setattr(
        task, "run_smoke_test", no_scratch_check
    )  # tests/integration/worker/backups/test_smoke_test.py does.
    (light_cluster.settings.state_dir / "database").mkdir()
    return replace(light_cluster, settings=replace(light_cluster.settings, backup_at=time(3, 0)))


@pytest.fixture
def held(lab: Cluster, clock: Clock) -> HeldLease:
    lease = acquire_lease(lab, "scheduler", "me", timedelta(days=30))
    assert lease is not None
    requests.request_nightly_backup(lab, lease)
    return lease


def a_night(lab: Cluster, held: HeldLease) -> Operation:
    """The next one, worked on to its end."""
    lab.clock.move(days=1)  # type: ignore[attr-defined]
    operation = requests.request_nightly_backup(lab, held)
    assert operation is not None
    run_claimed(lab, operation.id)
    with lab.store.read() as session:
        return session.get_one(Operation, operation.id)


def test_a_night_leaves_a_proved_backup(lab: Cluster, held: HeldLease) -> None:
    operation = a_night(lab, held)
    assert (operation.state, operation.error_code) == (OperationState.FINISHED, None)
    assert {step["state"] for step in operation.steps} == {"done"}
    (backup,) = manifests.read_backups(lab.settings.backups)
    assert backup.restored_at is not None
    assert not manifests.read_backup_status(lab).is_too_old


def test_a_flipped_bit_of_yesterday_is_told_tonight_and_the_good_ones_stay(
    lab: Cluster, held: HeldLease
) -> None:
    a_night(lab, held)
    (yesterday,) = manifests.read_backups(lab.settings.backups)
    file = lab.settings.backups / yesterday.name
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)
    operation = a_night(lab, held)
    assert (operation.state, operation.error_code) == (OperationState.FAILED, "backup.damaged")
    assert operation.error_data == {"names": [yesterday.name]}
    standing = manifests.read_backup_status(lab)
    assert [each.name for each in standing.damaged] == [yesterday.name]
    assert standing.last_verified is not None and standing.last_verified.name != yesterday.name
    assert standing.failed is not None


def test_a_night_without_room_is_told_and_keeps_what_there_is(
    lab: Cluster, held: HeldLease, monkeypatch: pytest.MonkeyPatch
) -> None:
    a_night(lab, held)
    monkeypatch.setattr(dump, "RESERVE_BYTES", 1 << 60)
    operation = a_night(lab, held)
    assert (operation.state, operation.error_code) == (OperationState.FAILED, "backup.no_room")
    assert len(manifests.read_backups(lab.settings.backups)) == 1


def test_a_night_that_could_not_be_copied_says_so_and_is_proved_all_the_same(
    lab: Cluster, held: HeldLease
) -> None:
    away = replace(lab, settings=replace(lab.settings, backup_copy="/proc/nowhere"))
    operation = a_night(away, held)
    assert (operation.state, operation.error_code) == (OperationState.FAILED, "backup.not_copied")
    standing = manifests.read_backup_status(away)
    assert standing.last_verified is not None and standing.failed is not None
