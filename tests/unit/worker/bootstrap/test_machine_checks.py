"""Checks of the machine end the start with a sentence before anything is installed."""

from dataclasses import dataclass
from pathlib import Path

import pytest

from worker.bootstrap import machine_checks
from worker.bootstrap.machine_checks import (
    check_disk_space,
    check_folders_writable,
    check_hostname,
    check_system_python,
    find_disk_shortages,
)
from worker.bootstrap.paths import InstallationPaths


@dataclass(frozen=True)
class Usage:
    free: int


@pytest.fixture
def places(tmp_path: Path) -> InstallationPaths:
    clone = Path(__file__).resolve().parents[4]
    return InstallationPaths(clone, tmp_path / "state" / "abc", tmp_path / "cache")


def test_needs_on_one_file_system_add_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine_checks.shutil, "disk_usage", lambda path: Usage(1_000))
    one, two = tmp_path / "a" / "b", tmp_path / "c"
    assert find_disk_shortages([(one, 600), (two, 300)]) == []
    assert find_disk_shortages([(one, 600), (two, 500)]) == [(one, 1_100, 1_000)]


def test_a_full_disk_is_said_with_both_numbers_before_anything_changes(
    places: InstallationPaths, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(machine_checks.shutil, "disk_usage", lambda path: Usage(1_200_000_000))
    with pytest.raises(SystemExit):
        check_disk_space(places)
    said = capsys.readouterr().err
    assert "and has 1.1 GiB" in said and str(places.state_dir) in said
    assert not places.state_dir.exists() and not places.cache_dir.exists()


@pytest.mark.parametrize(
    ("version", "is_good"), [((3, 10), False), ((3, 11), True), ((3, 12), True), ((3, 13), False)]
)
def test_only_the_pythons_of_the_pins_are_taken(
    version: tuple[int, int], is_good: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(machine_checks.sys, "version_info", (*version, 0))
    if is_good:
        check_system_python()
    else:
        with pytest.raises(SystemExit):
            check_system_python()


def test_a_folder_that_may_not_be_written_is_named(
    places: InstallationPaths,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    check_folders_writable(places)
    monkeypatch.setattr(machine_checks.os, "access", lambda path, mode: False)
    with pytest.raises(SystemExit):
        check_folders_writable(places)
    assert str(tmp_path) in capsys.readouterr().err


def test_a_machine_that_does_not_know_its_own_name_is_told_the_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(machine_checks.socket, "gethostname", lambda: "no-such-name.invalid")
    with pytest.raises(SystemExit):
        check_hostname()
    assert "127.0.1.1 no-such-name.invalid" in capsys.readouterr().err
