"""Folders of old runs go, those of runs under way never."""

import os
import shutil
from pathlib import Path

from worker.repairs.playbook_runs import prune_run_folders


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
