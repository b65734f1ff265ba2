"""The ballast is made once on each file system of ours and deleted when the disk is full."""

from pathlib import Path

import pytest

from cluster.services.context import Cluster
from cluster.services.storage import disk_space
from cluster.services.storage.ballast import (
    BALLAST,
    ballast_files,
    ensure_ballast,
    make_ballast,
    release_ballast,
)


def test_there_is_one_file_for_each_file_system(light_cluster: Cluster) -> None:
    assert ballast_files(light_cluster.settings) == [light_cluster.settings.state_dir / BALLAST]


def test_the_ballast_has_its_blocks_and_is_released_once(tmp_path: Path, light_cluster: Cluster) -> None:
    file = light_cluster.settings.state_dir / BALLAST
    make_ballast(file, 65_536)
    assert file.stat().st_blocks * 512 >= 65_536 and file.stat().st_mode & 0o777 == 0o600
    assert release_ballast(light_cluster.settings) and not file.exists()
    assert not release_ballast(light_cluster.settings)


def test_no_ballast_is_made_through_a_link(tmp_path: Path) -> None:
    (tmp_path / BALLAST).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(FileExistsError):
        make_ballast(tmp_path / BALLAST, 65_536)


def test_a_disk_that_is_not_watched_gets_none(light_cluster: Cluster) -> None:
    ensure_ballast(light_cluster.settings, [])
    assert not (light_cluster.settings.state_dir / BALLAST).exists()
    assert disk_space.read_monitored_disks(light_cluster.settings)
