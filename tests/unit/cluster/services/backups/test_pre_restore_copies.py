"""Copies from before a restore go after a while, the newest never; nothing else in those folders does."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from cluster.domain.backups.retention import expired_pre_restore_copies
from cluster.services.backups.pre_restore_copies import read_pre_restore_copies
from cluster.services.context import Cluster
from cluster.services.repairs.reclaimable_files import old_database_copies
from cluster.settings import Settings
from worker.backups.retention import delete_pre_restore_copies

NOW = datetime(2026, 11, 20, 18, 0, tzinfo=UTC)


@pytest.fixture
def settings(light_cluster: Cluster) -> Settings:
    """By SQLite two, one of them with its log, by PostgreSQL one; the clock is nine hours ahead of UTC."""
    found = replace(light_cluster.settings, before_restore_days=7)
    database, backups = found.state_dir / "database", found.backups
    for folder in (database, backups):
        folder.mkdir(exist_ok=True)
    for name in (
        "before-restore-20261101-030000.db",
        "before-restore-20261101-030000.db-wal",
        "before-restore-20261113-030000.db",
        "before-0014-20261001-030000.db",
        "groundcrew.db",
    ):
        (database / name).write_bytes(b"12345")
    for name in ("before-restore-20261102-030000.sql.zst", "before-restore-20261102-030000.sql.zst.json"):
        (backups / name).write_bytes(b"123")
    return found


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_each_is_listed_with_its_size_and_how_long_it_is_kept(settings: Settings) -> None:
    found = read_pre_restore_copies(settings)
    at = datetime(2026, 11, 1, 18, tzinfo=UTC)
    assert [(each.path.name[15:23], each.size) for each in found] == [
        ("20261113", 5), ("20261102", 6), ("20261101", 10),
    ]  # fmt: skip
    assert (found[1].at, found[1].kept_until) == (at, at + timedelta(days=7))
    assert found[0].kept_until is None


def test_what_is_older_than_said_goes_whole_and_the_newest_stays(settings: Settings) -> None:
    assert delete_pre_restore_copies(settings, NOW) == [
        "before-restore-20261101-030000.db",
        "before-restore-20261102-030000.sql.zst",
    ]
    database = settings.state_dir / "database"
    assert names(database) == [
        "before-0014-20261001-030000.db",
        "before-restore-20261113-030000.db",
        "groundcrew.db",
    ]
    assert names(settings.backups) == []
    assert delete_pre_restore_copies(settings, NOW + timedelta(days=365)) == []


def test_until_then_all_of_it_stays(settings: Settings) -> None:
    assert delete_pre_restore_copies(settings, datetime(2026, 11, 7, 18, tzinfo=UTC)) == []


def test_freeing_the_disk_leaves_them_to_the_backups(light_cluster: Cluster, settings: Settings) -> None:
    """And the newest copies from before migrations stay however many restores there were."""
    for day in ("02", "03"):
        (settings.state_dir / "database" / f"before-0014-202610{day}-030000.db").touch()
    assert len(list(old_database_copies(light_cluster))) == 1


@pytest.mark.parametrize(("days", "gone"), [(0, ["old", "older"]), (3, ["old"]), (9, [])])
def test_the_days_are_counted_from_when_it_was_put_aside(days: int, gone: list[str]) -> None:
    made = {"old": NOW - timedelta(days=5), "older": NOW - timedelta(days=3), "new": NOW - timedelta(days=1)}
    assert expired_pre_restore_copies(made, NOW, days) == gone
