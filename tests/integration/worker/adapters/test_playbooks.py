"""The lock that a run's process inherits says whether it lives, not what /proc says about it."""

import os
import signal
from pathlib import Path

from tests.integration.worker.executors.conftest import until
from worker.adapters import playbooks
from worker.adapters.playbooks import PlaybookEnd, PlaybookRequest

BECOMES_ANOTHER = """#!/bin/sh
echo $$ >{folder}/unfinished && mv {folder}/unfinished {folder}/number
exec env -i sleep 600
"""
"""As every process between two programs: its environment is empty."""


def a_play(folder: Path) -> PlaybookRequest:
    python = folder.with_name("python")
    python.write_text(BECOMES_ANOTHER.format(folder=folder))
    python.chmod(0o755)
    return PlaybookRequest(folder, folder / "none.yml", ["lab-a"], {}, python, locks=[], timeout=60)


def test_a_process_of_which_nothing_can_be_read_is_alive_until_it_is_gone(tmp_path: Path) -> None:
    folder = tmp_path / "7"
    playbooks.start_playbook_process(a_play(folder))
    until((folder / "number").exists)
    number = int((folder / "number").read_text())
    until(lambda: playbooks.list_run_processes(folder) == [])
    assert playbooks.read_playbook_end(folder) is None
    os.kill(number, signal.SIGKILL)
    until(lambda: playbooks.read_playbook_end(folder) == PlaybookEnd(None, "vanished"))


def test_what_was_never_begun_has_vanished(tmp_path: Path) -> None:
    """Its task worker died between the mark that it begins and its process."""
    (tmp_path / "started").touch()
    assert playbooks.read_playbook_end(tmp_path) == PlaybookEnd(None, "vanished")
