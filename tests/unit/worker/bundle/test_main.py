"""The command verifies and compares bundles, and says in a line what is wrong."""

from pathlib import Path

import pytest

from tests.unit.worker.small_bundle import a_bundle
from worker.bundle.__main__ import main

FILES = {"files/a_1.yaml": "a"}


def test_a_whole_bundle_is_said_to_be_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    version = a_bundle(tmp_path / "bundle", FILES).version
    assert main(["verify", str(tmp_path / "bundle")]) == 0
    assert f"Bundle {version} is whole: 1 files" in capsys.readouterr().out


def test_every_fault_is_named_and_counted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    a_bundle(tmp_path / "bundle", {**FILES, "files/b_1.yaml": "b"})
    (tmp_path / "bundle/files/a_1.yaml").unlink()
    (tmp_path / "bundle/files/b_1.yaml").write_text("c")
    assert main(["verify", str(tmp_path / "bundle")]) == 1
    said = capsys.readouterr().err
    assert "files/a_1.yaml" in said and "files/b_1.yaml" in said and "2 faults" in said


def test_a_bundle_older_than_the_sites_is_refused(tmp_path: Path) -> None:
    a_bundle(tmp_path / "old", FILES)
    a_bundle(tmp_path / "new", FILES, later=5)
    installed = str(tmp_path / "new/manifest.json")
    assert main(["verify", str(tmp_path / "old"), "--installed", installed]) == 1
    assert main(["verify", str(tmp_path / "new"), "--installed", installed]) == 0


def test_a_comparison_ends_as_diff_does(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    a_bundle(tmp_path / "old", FILES)
    a_bundle(tmp_path / "new", {"files/a_2.yaml": "b"}, later=5)
    assert main(["diff", str(tmp_path / "new"), str(tmp_path / "old")]) == 1
    assert "~ file   a 1 -> 2" in capsys.readouterr().out
    assert main(["diff", str(tmp_path / "new"), str(tmp_path / "new/manifest.json")]) == 0
    assert "The same files." in capsys.readouterr().out


def test_a_folder_without_a_bundle_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", str(tmp_path)]) == 1
    assert str(tmp_path) in capsys.readouterr().err
