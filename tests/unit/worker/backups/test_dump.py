"""A backup is readable SQL, named by the local clock."""

import subprocess
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from cluster.services.context import Cluster
from tests.builders import a_workspace, an_administrator
from worker.backups.dump import make_backup

NOW = datetime(2026, 11, 20, 18, 0, tzinfo=UTC)


@pytest.fixture
def lab(light_cluster: Cluster) -> Cluster:
    an_administrator(light_cluster, "o'neil; DROP TABLE users")
    a_workspace(light_cluster, name="vision")
    (light_cluster.settings.state_dir / "database").mkdir()
    return light_cluster


def made(lab: Cluster) -> tuple[dict[str, Any], Path]:
    manifest = make_backup(lab.settings, NOW)
    return manifest, lab.settings.backups / manifest["name"]


def test_a_backup_is_named_by_the_local_clock_and_is_readable_sql(lab: Cluster) -> None:
    manifest, file = made(lab)
    assert manifest["name"] == "groundcrew-20261121-030000.sql.zst"
    text = subprocess.run(["zstd", "-dc", str(file)], capture_output=True, text=True, check=True).stdout
    assert "CREATE TABLE users" in text
    assert file.stat().st_mode & 0o777 == 0o600


def test_what_a_killed_backup_has_left_goes_with_the_next_one(lab: Cluster) -> None:
    database = lab.settings.state_dir / "database"
    (database / ".backup-4711.db").touch()
    (database / ".backup-4711.db-journal").touch()
    (database / ".drill-abc").mkdir()
    (database / "groundcrew.db").touch()
    lab.settings.backups.mkdir(exist_ok=True)
    (lab.settings.backups / "groundcrew-20261101-030000.sql.unfinished").touch()
    _, file = made(lab)
    assert [path.name for path in database.iterdir()] == ["groundcrew.db"]
    assert {path.name for path in lab.settings.backups.iterdir()} == {
        ".lock",
        file.name,
        f"{file.name}.json",
    }
