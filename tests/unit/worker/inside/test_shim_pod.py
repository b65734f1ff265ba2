"""A pod of an Indexed Job that is not the first one: it runs its part, and nothing once the start was taken back."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from worker.adapters.job_runtime import install_runtime
from worker.executors.container_folders import prevent_container_start
from worker.inside import shim_pod


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("control", "out"):
        (tmp_path / name).mkdir()
    out = str(tmp_path / "out")
    plan = {
        "argv": ["/bin/sh", "-c", "echo $GROUNDCREW_INDEX; exit 3"],
        "environment": {},
        "out": out,
        "cwd": out,
    }
    (tmp_path / "control" / "plan.json").write_text(json.dumps(plan))
    return tmp_path


def run(folder: Path) -> int:
    program = install_runtime(folder / "runtime") / "shim_pod.py"
    words = [sys.executable, "-I", "-S", program, str(folder)]
    environment = {"PATH": os.environ["PATH"], "JOB_COMPLETION_INDEX": "1"}
    return subprocess.run(words, env=environment, timeout=60, check=False).returncode


def test_it_runs_its_part_and_ends_as_that_did(folder: Path) -> None:
    assert run(folder) == 3
    assert (folder / "out" / "launcher-1.stdout").read_text() == "1\n"


def test_it_runs_beside_a_first_pod_that_has_begun(folder: Path) -> None:
    (folder / "control" / "started").write_text(json.dumps({"pid": 1}))
    assert run(folder) == 3


def test_it_runs_nothing_once_the_start_was_taken_back(folder: Path) -> None:
    assert prevent_container_start(folder)
    assert run(folder) == shim_pod.REFUSED_EXIT_CODE
    assert list((folder / "out").iterdir()) == []
