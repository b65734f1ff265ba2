"""A shim as a transient unit: its name, its command, and what is made of systemd's answers."""

import json
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from worker.executors import shim_systemd_unit
from worker.executors.shim_systemd_unit import (
    SLICE,
    SystemdShimStarter,
    read_started_answer,
    systemd_run_command,
    unit_name,
)

SHIM = Path("/state/runtime/1/shim.py")
STARTED = {"pid": 77, "boot_id": "b", "start_ticks": 5}


class Systemd:
    """Answers as it is told, and writes the shim's word when it begins a unit, if it is to."""

    def __init__(self, code: int, is_active: bool, word: Path | None = None) -> None:
        self.code, self.is_active, self.word = code, is_active, word
        self.asked: list[Sequence[str]] = []

    def __call__(self, command: Sequence[str]) -> "subprocess.CompletedProcess[str]":
        self.asked.append(command)
        if command[0] == "systemctl":
            return subprocess.CompletedProcess(command, 0, "active" if self.is_active else "inactive", "")
        if self.word is not None:
            self.word.write_text(json.dumps(STARTED))
        return subprocess.CompletedProcess(command, self.code, "", "Unit gc-7-1.service already exists.")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "7" / "1" / "control").mkdir(parents=True)
    return tmp_path / "7" / "1"


def test_a_unit_is_named_by_job_and_attempt_and_lives_in_the_slice_of_jobs(folder: Path) -> None:
    assert unit_name(folder) == "gc-7-1.service"
    command = systemd_run_command("gc-7-1.service", ["/usr/bin/python3", "shim.py"])
    before, program = command[: command.index("--")], command[command.index("--") + 1 :]
    assert program == ["/usr/bin/python3", "shim.py"]
    assert f"--slice={SLICE}" in before and "--unit=gc-7-1.service" in before
    assert "--property=ExitType=cgroup" in before and "--property=Delegate=yes" in before
    assert "--property=Description=Groundcrew job 7-1" in before


def test_the_shim_s_word_is_the_answer(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    systemd = Systemd(0, is_active=True, word=folder / "control" / "started")
    monkeypatch.setattr(shim_systemd_unit, "run_systemd_tool", systemd)
    assert SystemdShimStarter().start_shim(SHIM, folder) == STARTED
    assert systemd.asked[0][-2:] == [str(SHIM), str(folder)]


@pytest.mark.parametrize(
    ("code", "is_active", "text"),
    [
        (1, False, "gc-7-1.service: Unit gc-7-1.service already exists."),
        (0, False, "gc-7-1.service ended at once; see: journalctl --unit gc-7-1.service"),
    ],
)
def test_a_unit_that_does_not_stay_says_why(
    folder: Path, monkeypatch: pytest.MonkeyPatch, code: int, is_active: bool, text: str
) -> None:
    monkeypatch.setattr(shim_systemd_unit, "run_systemd_tool", Systemd(code, is_active))
    assert SystemdShimStarter().start_shim(SHIM, folder) == {"text": text}


def test_a_shim_that_says_nothing_is_not_waited_for_for_ever(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shim_systemd_unit, "run_systemd_tool", Systemd(0, is_active=True))
    monkeypatch.setattr(shim_systemd_unit, "START_SECONDS", 0.0)
    with pytest.raises(subprocess.TimeoutExpired):
        SystemdShimStarter().start_shim(SHIM, folder)


@pytest.mark.parametrize(
    ("content", "answer"),
    [(None, None), (STARTED, STARTED), ({"forestalled": True}, {"refused": "already_started"})],
)
def test_a_start_that_was_prevented_is_told_apart(
    folder: Path, content: dict[str, object] | None, answer: dict[str, object] | None
) -> None:
    if content is not None:
        (folder / "control" / "started").write_text(json.dumps(content))
    assert read_started_answer(folder) == answer


def test_a_group_that_is_gone_needs_no_unit_to_end_it(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    systemd = Systemd(0, is_active=False)
    monkeypatch.setattr(shim_systemd_unit, "run_systemd_tool", systemd)
    assert SystemdShimStarter().end_cgroup(SHIM, folder) == 0
    assert systemd.asked == []
