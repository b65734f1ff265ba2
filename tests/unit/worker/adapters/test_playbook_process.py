"""The process around a playbook answers who waits, writes whole files and leaves nothing of the run alive."""

import fcntl
import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from worker.adapters import playbook_process
from worker.adapters.playbook_process import (
    ALIVE,
    LOCKED,
    RAN,
    REPLY,
    child_pids,
    handle_event,
    inventory_files,
    main,
    prepare_artifacts,
    reap_children,
    reply_started,
    run_ansible,
    write_json_file,
)

PROGRAM = Path(playbook_process.__file__)


def test_a_file_is_there_whole_or_not_at_all(tmp_path: Path) -> None:
    target = tmp_path / "exit.json"
    write_json_file(target, {"end": "ran"})
    write_json_file(target, {"end": "locked"}, is_last=False)
    assert json.loads(target.read_text()) == {"end": "locked"}
    assert list(tmp_path.iterdir()) == [target]


def test_each_event_is_a_file_in_the_folder_that_was_prepared(tmp_path: Path) -> None:
    prepare_artifacts(tmp_path)
    assert (tmp_path / "artifacts" / "run" / "stdout").read_text() == ""
    event = {"counter": 3, "uuid": "abc", "event": "runner_on_ok"}
    assert handle_event(tmp_path, event) is False
    written = tmp_path / "artifacts" / "run" / "job_events" / "3-abc.json"
    assert json.loads(written.read_text()) == event


def test_the_installations_hosts_come_before_those_of_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CREDENTIALS_DIRECTORY", raising=False)
    assert inventory_files(Path("/run")) is None
    monkeypatch.setenv("CREDENTIALS_DIRECTORY", "/keys")
    assert inventory_files(Path("/run")) == ["/keys/inventory.yml", "/run/inventory/hosts.yml"]


def test_who_waits_is_answered_once_and_children_do_not_hold_the_lock(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    reader, reply = os.pipe()
    alive = os.open(os.devnull, os.O_RDONLY)
    os.set_inheritable(alive, True)
    monkeypatch.setenv(REPLY, str(reply))
    monkeypatch.setenv(ALIVE, str(alive))
    reply_started()
    with os.fdopen(reader, "rb") as answer:
        assert json.loads(answer.read()) == {"done": True}
    assert not os.get_inheritable(alive)
    assert REPLY not in os.environ and ALIVE not in os.environ
    os.close(alive)
    reply_started()


def test_a_run_whose_target_is_held_begins_nothing(tmp_path: Path) -> None:
    lock = tmp_path / "master.lock"
    (tmp_path / "request.json").write_text(json.dumps({"locks": [str(lock)]}))
    with lock.open("a") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        assert main([str(tmp_path)]) == 1
    assert json.loads((tmp_path / "exit.json").read_text()) == {"end": LOCKED}


def test_children_are_listed_until_they_are_reaped() -> None:
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    assert child.pid in child_pids(os.getpid())
    child.communicate(b"\n")
    assert child.pid not in child_pids(os.getpid())
    assert child_pids(2**22 + 1) == []


LEAVES_PROCESSES = """
import os, subprocess, sys
sys.path.insert(0, sys.argv[1])
import playbook_process
playbook_process.KILL_AFTER_SECONDS = 0.2
playbook_process.become_subreaper()
sleeps = "exec sleep 60"
subprocess.run(["sh", "-c", f"({sleeps}) & (trap '' TERM; sleep 60; sleep 60) & :"], check=True)
before = playbook_process.child_pids(os.getpid())
playbook_process.end_descendants()
print(len(before), len(playbook_process.child_pids(os.getpid())), playbook_process.reap_children())
"""


def test_what_a_playbook_leaves_behind_ends_also_against_its_will() -> None:
    done = subprocess.run(
        [sys.executable, "-c", LEAVES_PROCESSES, str(PROGRAM.parent)],
        check=True, capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert done.stdout.split() == ["2", "0", "False"]
    assert not reap_children() or child_pids(os.getpid())


@pytest.mark.parametrize("is_check", [False, True])
def test_a_playbook_runs_as_its_request_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_check: bool
) -> None:
    calls: list[dict[str, Any]] = []

    def run(**words: Any) -> SimpleNamespace:
        calls.append(words)
        return SimpleNamespace(rc=2, status="failed")

    monkeypatch.setitem(sys.modules, "ansible_runner", SimpleNamespace(run=run))
    request = {"playbook": "/p/look.yml", "check": is_check, "environment": {"A": "1"}, "timeout": 9}
    assert run_ansible(tmp_path, request) == {"end": RAN, "rc": 2, "status": "failed"}
    (words,) = calls
    assert (words["playbook"], words["envvars"], words["timeout"]) == ("/p/look.yml", {"A": "1"}, 9)
    assert words["cmdline"] == ("--check" if is_check else None)
    assert not words["cancel_callback"]()
    (tmp_path / "cancel").touch()
    assert words["cancel_callback"]()
