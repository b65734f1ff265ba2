"""What the night's operation does: made, proved, the older ones looked at, the surplus gone; and what it says."""

from dataclasses import replace
from datetime import time, timedelta

import pytest

from cluster.domain.states import OperationState
from cluster.services import backups
from cluster.services.context import Cluster
from cluster.services.leases import Held, hold_lease
from cluster.store.operations import Operation
from tests.conftest import Clock
from worker.backups import dump
from worker.backups.restore import look_no_further
from worker.tasks import backups as task
from worker.tasks.run import run_claimed


@pytest.fixture
def lab(light_cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> Cluster:
    monkeypatch.setattr(task, "open_pages", look_no_further)  # tests/integration/test_drill_portal.py does.
    (light_cluster.settings.state_dir / "database").mkdir()
    return replace(light_cluster, settings=replace(light_cluster.settings, backup_at=time(3, 0)))


@pytest.fixture
def held(lab: Cluster, clock: Clock) -> Held:
    lease = hold_lease(lab, "scheduler", "me", timedelta(days=30))
    assert lease is not None
    backups.request_nightly(lab, lease)
    return lease


def a_night(lab: Cluster, held: Held) -> Operation:
    """The next one, worked on to its end."""
    lab.clock.move(days=1)  # type: ignore[attr-defined]
    operation = backups.request_nightly(lab, held)
    assert operation is not None
    run_claimed(lab, operation.id)
    with lab.store.read() as session:
        return session.get_one(Operation, operation.id)


def test_a_night_leaves_a_proved_backup(lab: Cluster, held: Held) -> None:
    operation = a_night(lab, held)
    assert (operation.state, operation.error_code) == (OperationState.FINISHED, None)
    assert {step["state"] for step in operation.steps} == {"done"}
    (backup,) = backups.read_backups(lab.settings.backups)
    assert backup.restored_at is not None
    assert not backups.read_standing(lab).is_too_old


def test_a_flipped_bit_of_yesterday_is_told_tonight_and_the_good_ones_stay(lab: Cluster, held: Held) -> None:
    a_night(lab, held)
    (yesterday,) = backups.read_backups(lab.settings.backups)
    file = lab.settings.backups / yesterday.name
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)
    operation = a_night(lab, held)
    assert (operation.state, operation.error_code) == (OperationState.FAILED, "backup.damaged")
    assert operation.error_data == {"names": [yesterday.name]}
    standing = backups.read_standing(lab)
    assert [each.name for each in standing.damaged] == [yesterday.name]
    assert standing.proven is not None and standing.proven.name != yesterday.name
    assert standing.failed is not None


def test_a_night_without_room_is_told_and_keeps_what_there_is(
    lab: Cluster, held: Held, monkeypatch: pytest.MonkeyPatch
) -> None:
    a_night(lab, held)
    monkeypatch.setattr(dump, "SPARE_BYTES", 1 << 60)
    operation = a_night(lab, held)
    assert (operation.state, operation.error_code) == (OperationState.FAILED, "backup.no_room")
    assert len(backups.read_backups(lab.settings.backups)) == 1


def test_a_night_that_could_not_be_copied_says_so_and_is_proved_all_the_same(
    lab: Cluster, held: Held
) -> None:
    away = replace(lab, settings=replace(lab.settings, backup_copy="/proc/nowhere"))
    operation = a_night(away, held)
    assert (operation.state, operation.error_code) == (OperationState.FAILED, "backup.not_copied")
    standing = backups.read_standing(away)
    assert standing.proven is not None and standing.failed is not None
