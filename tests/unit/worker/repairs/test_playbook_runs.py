"""Folders of old runs go, those of runs under way never; logs are copied through no link."""

import os
import shutil
from pathlib import Path

import pytest

from worker.adapters import playbooks
from worker.repairs.playbook_runs import copy_log, prune_run_folders


def test_only_the_newest_ended_runs_keep_their_folders(tmp_path: Path) -> None:
    for number in range(1, 6):
        end = tmp_path / str(number) / "exit.json"
        end.parent.mkdir()
        end.touch()
        os.utime(end, (number, number))
    (tmp_path / "6").mkdir()
    (tmp_path / "records").mkdir()
    (tmp_path / "records" / "exit.json").touch()
    assert prune_run_folders(tmp_path, shutil.rmtree, kept=2) == ["1", "2", "3"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["4", "5", "6", "records"]
    assert prune_run_folders(tmp_path, shutil.rmtree, kept=2) == []


@pytest.mark.parametrize("kind", ["link", "second name"])
def test_the_log_of_a_run_is_copied_through_no_link(tmp_path: Path, kind: str) -> None:
    """The folder of logs belongs to other services than the one that watches repairs."""
    run, target, elsewhere = tmp_path / "run", tmp_path / "operation-1.log", tmp_path / "elsewhere"
    elsewhere.write_text("of somebody else")
    target.symlink_to(elsewhere) if kind == "link" else target.hardlink_to(elsewhere)
    source = playbooks.log_file(run)
    source.parent.mkdir(parents=True)
    source.write_text("TASK [one]\n")
    copy_log(run, target)
    assert elsewhere.read_text() == "of somebody else"
    assert target.read_text() == "TASK [one]\n" and not target.is_symlink()
    source.write_text("TASK [one]\nTASK [two]\n")
    copy_log(run, target)
    assert target.read_text() == "TASK [one]\nTASK [two]\n"
