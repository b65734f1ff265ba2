"""A night that is killed at any step, or whose disk is full: told the same night, and the older proved ones stay."""

import os
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from datetime import time, timedelta
from functools import partial
from pathlib import Path

import pytest
from sqlalchemy.engine import make_url

from cluster.domain.errors import GroundcrewError
from cluster.domain.states import OperationState
from cluster.services.backups import manifests, requests
from cluster.services.context import Cluster
from cluster.services.leases import HeldLease, acquire_lease
from cluster.services.operations.stale_operations import requeue_stale_operations
from cluster.store.operations import Operation
from tests.builders import an_administrator
from tests.conftest import IS_CI, Clock
from tests.crash.failpoint_deaths import dies_at
from worker.backups import dump
from worker.backups.databases import postgresql as pg
from worker.backups.databases import sqlite
from worker.backups.drill import drill_newest_backup, no_scratch_check
from worker.tasks import backups as task
from worker.tasks.run import run_claimed

MOST_POINTS = 80


@pytest.fixture
def lab(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> Cluster:
    monkeypatch.setattr(
        task, "run_smoke_test", no_scratch_check
    )  # tests/integration/worker/backups/test_smoke_test.py does.
    (cluster.settings.state_dir / "database").mkdir(exist_ok=True)
    an_administrator(cluster, "hjkim")
    return replace(cluster, settings=replace(cluster.settings, backup_at=time(3, 0)))


@pytest.fixture
def held(lab: Cluster) -> HeldLease:
    lease = acquire_lease(lab, "scheduler", "me", timedelta(days=300))
    assert lease is not None
    requests.request_nightly_backup(lab, lease)
    return lease


def ask(lab: Cluster, held: HeldLease) -> int:
    lab.clock.move(days=1)  # type: ignore[attr-defined]
    operation = requests.request_nightly_backup(lab, held)
    assert operation is not None
    return operation.id


def state_of(lab: Cluster, number: int) -> Operation:
    with lab.store.read() as session:
        return session.get_one(Operation, number)


def names_there(lab: Cluster) -> set[str]:
    return {path.name for path in lab.settings.backups.iterdir()} - {".lock"}


def places_of_scratch(lab: Cluster) -> list[str]:
    url = make_url(lab.settings.owner_url)
    if lab.store.is_sqlite:
        folder = lab.settings.state_dir / "database"
        return [path.name for path in folder.iterdir() if path.name.startswith((".backup", ".drill"))]
    with pg.connect_psycopg(url) as connection:
        query = "SELECT datname FROM pg_database WHERE datname LIKE %s"
        return [str(name) for (name,) in connection.execute(query, [f"{url.database}_%"]).fetchall()]


@pytest.mark.parametrize(
    ("database_kind", "step"),
    [
        ("sqlite", 12),
        pytest.param("sqlite", 1, marks=pytest.mark.long),
        pytest.param("postgresql", 1, marks=pytest.mark.long),
    ],
    indirect=["database_kind"],
)
def test_a_night_that_is_killed_at_any_step_is_made_up_for_and_takes_nothing_with_it(
    lab: Cluster, held: HeldLease, clock: Clock, tmp_path: Path, step: int
) -> None:
    run_claimed(lab, ask(lab, held))
    (proved,) = manifests.read_backups(lab.settings.backups)
    for number in range(1, MOST_POINTS, step):
        night = ask(lab, held)
        if not dies_at(lab, number, partial(claimed, night), tmp_path / "log"):
            break
        standing = manifests.read_backup_status(lab).last_verified
        assert standing is not None and standing.made_at >= proved.made_at, f"at point {number}"
        clock.move(seconds=30)
        requeue_stale_operations(lab)
        run_claimed(lab, night)
        assert state_of(lab, night).state is OperationState.FINISHED, f"after point {number}"
        kept = manifests.read_backups(lab.settings.backups)
        assert kept[0].restored_at is not None and len(kept) <= 1 + number
        assert names_there(lab) == {name for each in kept for name in (each.name, f"{each.name}.json")}
        assert places_of_scratch(lab) == []
    assert 20 < number < MOST_POINTS - step, f"{number} points"


def claimed(number: int, child: Cluster) -> None:
    run_claimed(child, number)


@pytest.fixture
def small_disk(lab: Cluster, tmp_path: Path) -> Iterator[Path]:
    """Where backups land: 1 MiB, of which a few kilobytes are left."""
    folder = tmp_path / "small"
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=1m", "gc-backups", str(folder)], check=False
    )
    if mounted.returncode != 0:
        (pytest.fail if IS_CI else pytest.skip)("a small disk can only be mounted by root")
    try:
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True)


def fill(folder: Path, leave: int) -> None:
    disk = os.statvfs(folder)
    (folder / "ballast").write_bytes(b"x" * max(0, disk.f_bavail * disk.f_frsize - leave))


@pytest.mark.parametrize(("leave", "is_checked"), [(4096, True), (4096, False), (0, False)])
def test_a_full_disk_is_told_the_same_night_and_the_proved_one_stays(
    lab: Cluster,
    held: HeldLease,
    small_disk: Path,
    leave: int,
    is_checked: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    small = replace(lab, settings=replace(lab.settings, backups_dir=small_disk))
    spare = dump.RESERVE_BYTES
    monkeypatch.setattr(dump, "RESERVE_BYTES", -(1 << 40))
    run_claimed(small, ask(small, held))
    (proved,) = manifests.read_backups(small_disk)
    fill(small_disk, leave)
    monkeypatch.setattr(dump, "RESERVE_BYTES", spare if is_checked else -(1 << 40))
    night = ask(small, held)
    run_claimed(small, night)
    failed = state_of(small, night)
    assert (failed.state, failed.error_code) == (
        OperationState.FAILED,
        "backup.no_room" if is_checked else "backup.disk_full",
    )
    standing = manifests.read_backup_status(small)
    assert standing.failed is not None and standing.last_verified == proved
    (small_disk / "ballast").unlink()
    monkeypatch.setattr(dump, "RESERVE_BYTES", -(1 << 40))
    run_claimed(small, again := ask(small, held))
    assert state_of(small, again).state is OperationState.FINISHED
    assert not [path for path in small_disk.iterdir() if path.name.endswith(".unfinished")]


@pytest.mark.parametrize("database_kind", ["sqlite"])
def test_a_disk_that_fills_up_during_the_trial_makes_no_backup_a_broken_one(
    lab: Cluster, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """PostgreSQL's disk is the server's own: its words are looked for in psql's."""
    dump.make_backup(lab.settings, clock())
    monkeypatch.setattr(sqlite, "SCRATCH_PRAGMAS", ("PRAGMA page_size=512", "PRAGMA max_page_count=20"))
    with pytest.raises(GroundcrewError) as full:
        drill_newest_backup(lab.settings, clock())
    assert full.value.code == "backup.disk_full"
    assert manifests.read_backups(lab.settings.backups)[0].problem is None
