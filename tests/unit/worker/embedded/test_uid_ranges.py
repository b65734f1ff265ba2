"""Two clones on a machine have no number of a job's user in common."""

import os
from pathlib import Path

import pytest

from cluster.domain.jobs.unix_ids import IDS_PER_INSTALLATION
from cluster.settings import Settings
from worker.bootstrap.paths import InstallationPaths
from worker.embedded.settings_file import ensure_settings_file
from worker.embedded.uid_ranges import FIRST_BASE, REGISTER


def clone(tmp_path: Path, name: str, state: str = "state") -> InstallationPaths:
    (tmp_path / state / name).mkdir(parents=True)
    return InstallationPaths(tmp_path / name, tmp_path / state / name, tmp_path / "cache")


@pytest.fixture
def root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)


def first_uid(places: InstallationPaths) -> int:
    settings = Settings.from_environment(ensure_settings_file(places, None))
    assert settings.uid_base == settings.gid_base
    return settings.uid_base


@pytest.mark.usefixtures("root")
def test_clones_have_ranges_of_their_own_and_keep_them(tmp_path: Path) -> None:
    clones = [clone(tmp_path, name) for name in ("one", "two")] + [clone(tmp_path, "three", "elsewhere")]
    bases = [first_uid(each) for each in clones]
    assert bases == [FIRST_BASE, FIRST_BASE + IDS_PER_INSTALLATION, FIRST_BASE + 2 * IDS_PER_INSTALLATION]
    assert [first_uid(each) for each in clones] == bases


@pytest.mark.usefixtures("root")
def test_a_clone_that_knew_no_ranges_keeps_the_first_one(tmp_path: Path) -> None:
    old, new = clone(tmp_path, "old"), clone(tmp_path, "new")
    old.settings_file.write_text("GROUNDCREW_PORT=8470\nGROUNDCREW_SECRET_KEY=" + "x" * 64 + "\n")
    assert first_uid(new) == FIRST_BASE + IDS_PER_INSTALLATION
    assert "GROUNDCREW_UID_BASE" not in ensure_settings_file(old, None)


@pytest.mark.usefixtures("root")
def test_the_range_of_a_clone_that_was_reset_is_free(tmp_path: Path) -> None:
    first, second = clone(tmp_path, "first"), clone(tmp_path, "second")
    assert (first_uid(first), first_uid(second)) == (FIRST_BASE, FIRST_BASE + IDS_PER_INSTALLATION)
    first.settings_file.unlink()
    assert first_uid(clone(tmp_path, "third")) == FIRST_BASE


def test_without_root_no_number_is_anybody_elses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert {first_uid(clone(tmp_path, name)) for name in ("one", "two")} == {FIRST_BASE}
    assert not (tmp_path / "cache" / REGISTER).exists()
