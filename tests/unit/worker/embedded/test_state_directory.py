"""The state directory: who reaches what in it, and which places are refused."""

import os
import tempfile
from pathlib import Path

import pytest

from worker.bootstrap.paths import InstallationPaths
from worker.embedded.state_directory import (
    find_impassable_folder,
    is_path_too_long_for_sockets,
    link_environment,
)


@pytest.mark.parametrize("name", ["database", "run", "secrets", "log", "redis"])
def test_nobody_else_reads_what_the_services_keep(places: InstallationPaths, name: str) -> None:
    assert (places.state_dir / name).stat().st_mode & 0o777 == 0o700


def test_jobs_pass_through_to_their_folders_and_list_nothing(places: InstallationPaths) -> None:
    assert places.state_dir.stat().st_mode & 0o777 == 0o711
    assert (places.state_dir / "storage").stat().st_mode & 0o777 == 0o711
    assert (places.state_dir / "runtime").stat().st_mode & 0o777 == 0o755


def test_a_clone_too_deep_for_a_socket_is_told_before(tmp_path: Path) -> None:
    assert not is_path_too_long_for_sockets(
        InstallationPaths(Path("/a"), Path("/var/lib/groundcrew/0123456789ab"), Path("/c"))
    )
    assert is_path_too_long_for_sockets(InstallationPaths(Path("/a"), Path("/home") / ("x" * 80), Path("/c")))


@pytest.mark.skipif(os.geteuid() != 0, reason="without root jobs and nginx are the same user")
def test_a_state_that_jobs_and_nginx_could_not_reach_is_told_before() -> None:
    with tempfile.TemporaryDirectory(prefix="gc-") as name:
        places = InstallationPaths(Path("/a"), Path(name) / "state", Path("/c"))
        assert find_impassable_folder(places) == Path(name)
        Path(name).chmod(0o755)
        assert find_impassable_folder(places) is None


def test_the_environment_that_runs_can_be_found_again(places: InstallationPaths, tmp_path: Path) -> None:
    for name in ("portal-1", "portal-2"):
        (tmp_path / name).mkdir()
        link_environment(places, tmp_path / name)
        assert places.environment_link.resolve() == tmp_path / name
