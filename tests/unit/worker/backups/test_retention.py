"""Surplus backups go with their manifests; a damaged one is marked."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from cluster.domain.backups.problems import BackupProblem
from cluster.services.backups.manifests import read_backups
from cluster.services.context import Cluster
from tests.builders import a_workspace, an_administrator
from worker.backups import retention
from worker.backups.drill import drill_newest_backup
from worker.backups.dump import make_backup

NOW = datetime(2026, 11, 20, 18, 0, tzinfo=UTC)


@pytest.fixture
def lab(light_cluster: Cluster) -> Cluster:
    an_administrator(light_cluster, "o'neil; DROP TABLE users")
    a_workspace(light_cluster, name="vision")
    (light_cluster.settings.state_dir / "database").mkdir()
    return light_cluster


def flip_a_bit(file: Path) -> None:
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)


def proved(lab: Cluster, when: datetime) -> Path:
    manifest = make_backup(lab.settings, when)
    drill_newest_backup(lab.settings, when)
    return lab.settings.backups / manifest["name"]


def test_one_flipped_bit_in_yesterdays_file_is_found_tonight(lab: Cluster) -> None:
    before, yesterday, tonight = (proved(lab, NOW + timedelta(days=day)) for day in range(3))
    assert retention.mark_damaged(lab.settings) == []
    flip_a_bit(yesterday)
    assert retention.mark_damaged(lab.settings) == [yesterday.name]
    states = {each.name: each.restored_at is not None for each in read_backups(lab.settings.backups)}
    assert states == {before.name: True, yesterday.name: False, tonight.name: True}
    assert [each.problem for each in read_backups(lab.settings.backups)] == [
        None,
        BackupProblem("broken.changed"),
        None,
    ]


def test_what_is_surplus_goes_with_its_manifest(lab: Cluster) -> None:
    first = proved(lab, NOW)
    second = proved(lab, NOW + timedelta(hours=1))
    assert retention.delete_surplus_backups(lab.settings) == [first.name]
    assert {path.name for path in lab.settings.backups.glob("groundcrew-*")} == {
        second.name,
        f"{second.name}.json",
    }
