"""The command pushes a folder as a version, pulls it elsewhere, and says what differs."""

from pathlib import Path

import pytest

from cluster.domain.states import TrainingKind
from portal.cli.commands.code import check_path
from tests.builders import a_training
from tests.pages.portal.command_lab import Run
from tests.pages.portal.rest_lab import Lab

OWN = ("-t", "vision/own")


@pytest.fixture
def folder(lab: Lab, tmp_path: Path) -> Path:
    a_training(lab.cluster, lab.workspace, lab.member, name="own", kind=TrainingKind.ADVANCED, code_version=0)
    folder = tmp_path / "here"
    (folder / "net").mkdir(parents=True)
    (folder / "train.py").write_text("print(1)\n")
    (folder / "net/conv.py").write_text("x = 1\n")
    (folder / "__pycache__").mkdir()
    (folder / "__pycache__/train.pyc").write_bytes(b"\0")
    (folder / "link.py").symlink_to("/etc/passwd")
    return folder


def test_a_folder_is_pushed_changed_and_pulled(run: Run, folder: Path, tmp_path: Path) -> None:
    assert "Version 1: 2 files sent" in run("code", "push", *OWN, str(folder)).stdout
    assert "Nothing has changed since version 1." in run("code", "push", *OWN, str(folder)).stdout
    (folder / "net/conv.py").write_text("x = 2\n")
    assert "-x = 1\n+x = 2\n" in run("code", "diff", *OWN, str(folder)).stdout
    assert "Version 2: 1 files sent" in run("code", "push", *OWN, str(folder)).stdout
    assert run("code", "diff", *OWN, str(folder)).stdout == ""
    assert "-x = 1\n+x = 2\n" in run("code", "diff", *OWN, "--from", "1", "--to", "2").stdout
    assert run("code", "list", *OWN, "-o", "name").stdout.split() == ["2", "1"]
    assert run("code", "list", *OWN, "--files", "0", "-o", "name").stdout.split() == [
        "net/conv.py",
        "train.py",
    ]
    there = tmp_path / "there"
    there.mkdir()
    assert "Version 2: 2 files fetched." in run("code", "pull", *OWN, str(there)).stdout
    assert (there / "net/conv.py").read_text() == "x = 2\n"
    assert "Version 2: 0 files fetched." in run("code", "pull", *OWN, str(there)).stdout


def test_files_that_are_only_on_the_server_go_on_purpose_alone(run: Run, folder: Path) -> None:
    run("code", "push", *OWN, str(folder))
    (folder / "net/conv.py").unlink()
    assert "Nothing has changed" in run("code", "push", *OWN, str(folder)).stdout
    assert "1 left out" in run("code", "push", *OWN, "--delete", str(folder)).stdout
    assert run("code", "list", *OWN, "--files", "0", "-o", "name").stdout.split() == ["train.py"]


def test_a_pull_overwrites_nothing_that_was_changed_here(run: Run, folder: Path, tmp_path: Path) -> None:
    run("code", "push", *OWN, str(folder))
    (folder / "train.py").write_text("mine\n")
    assert "train.py" in run("code", "pull", *OWN, str(folder), expected=5).output
    assert (folder / "train.py").read_text() == "mine\n"
    run("code", "pull", *OWN, "--force", str(folder))
    assert (folder / "train.py").read_text() == "print(1)\n"
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    trap = tmp_path / "trap"
    trap.mkdir()
    (trap / "net").symlink_to(elsewhere)
    run("code", "pull", *OWN, str(trap), expected=1)
    assert list(elsewhere.iterdir()) == []


@pytest.mark.parametrize("path", ["../a.py", "/etc/a.py", "a//b.py", "", "a/./b.py", "a\0b"])
def test_a_server_does_not_choose_where_is_written(path: str) -> None:
    with pytest.raises(SystemExit):
        check_path(path)
