"""A tree of processes is found through /proc, measured, and ended whole."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from worker.inside import shim_process_tree
from worker.inside.shim_process_tree import (
    PAGE,
    TICKS,
    ProcessInfo,
    ProcessTreeEnding,
    children_of,
    find_argument_memory,
    is_rank_wrapper,
    kill_descendants,
    list_pids,
    living_descendants,
    read_boot_id,
    read_process,
    signal_pids,
)

TREE = ["sh", "-c", "sh -c 'echo; sleep 60 & wait' & wait"]
MISSING = 2**22 + 1


@pytest.fixture
def tree() -> Iterator["subprocess.Popen[bytes]"]:
    """A shell with a child and a grandchild."""
    root = subprocess.Popen(TREE, stdout=subprocess.PIPE)
    assert root.stdout is not None
    root.stdout.readline()
    deadline = time.monotonic() + 30
    while len(psutil.Process(root.pid).children(recursive=True)) < 2:
        assert time.monotonic() < deadline, "the tree does not grow"
    everybody = [*psutil.Process(root.pid).children(recursive=True), psutil.Process(root.pid)]
    with root:
        yield root
        for process in everybody:
            with suppress(psutil.NoSuchProcess):
                process.kill()


def test_a_line_of_stat_is_parsed_whatever_the_command_is_called() -> None:
    numbers = [str(number) for number in range(4, 53)]
    info = ProcessInfo(7, "7 (a) ) (b) S 1 " + " ".join(numbers))
    fields = ["S", "1", *numbers]
    assert (info.pid, info.state, info.parent) == (7, "S", 1)
    assert info.cpu_seconds == sum(map(int, fields[11:15])) / TICKS
    assert (info.start_ticks, info.rss_bytes) == (int(fields[19]), int(fields[21]) * PAGE)


@pytest.mark.parametrize(
    ("state", "expected"), [("S", False), ("R", False), ("T", False), ("Z", True), ("X", True)]
)
def test_zombies_are_gone(state: str, expected: bool) -> None:
    assert ProcessInfo(7, f"7 (x) {state} 1 " + "0 " * 40).is_gone() is expected


def test_a_process_is_read_while_it_is_there() -> None:
    own = read_process(os.getpid())
    assert own is not None and (own.pid, own.parent) == (os.getpid(), os.getppid())
    assert own.rss_bytes > 2**20
    assert read_process(MISSING) is None
    assert {os.getpid(), 1} <= set(list_pids())


def test_descendants_are_children_and_their_children(tree: "subprocess.Popen[bytes]") -> None:
    found = {each.pid for each in psutil.Process(tree.pid).children(recursive=True)}
    assert {each.pid for each in living_descendants(tree.pid)} == found
    (child,) = children_of(tree.pid)
    assert child in found and len(found) == 2
    assert children_of(MISSING) == []


def test_all_descendants_are_killed_and_nobody_else(tree: "subprocess.Popen[bytes]") -> None:
    found = psutil.Process(tree.pid).children(recursive=True)
    killed = kill_descendants(tree.pid)
    assert {each.pid for each in killed} == {each.pid for each in found}
    gone, alive = psutil.wait_procs(found, timeout=10)
    assert alive == [] and len(gone) == 2
    assert tree.wait(10) == 0, "the root goes on and ends by itself"


@pytest.mark.parametrize(("wake", "is_ended"), [(True, True), (False, False)])
def test_a_stopped_process_is_woken_to_see_its_signal(wake: bool, is_ended: bool) -> None:
    sleeper = subprocess.Popen(["sleep", "60"])
    process = psutil.Process(sleeper.pid)
    signal_pids([sleeper.pid], signal.SIGSTOP, wake=False)
    deadline = time.monotonic() + 10
    while process.status() != psutil.STATUS_STOPPED:
        assert time.monotonic() < deadline
    signal_pids([MISSING, sleeper.pid], signal.SIGTERM, wake=wake)
    if is_ended:
        assert sleeper.wait(10) == -signal.SIGTERM
    else:
        assert process.status() == psutil.STATUS_STOPPED
        sleeper.kill()
        sleeper.wait()


@pytest.mark.parametrize(("name", "expected"), [("shim_rank.py", True), ("rank.py", False)])
def test_a_rank_wrapper_is_known_by_its_program(tmp_path: Path, name: str, expected: bool) -> None:
    (tmp_path / name).write_text("print(flush=True)\ninput()\n")
    words = [sys.executable, str(tmp_path / name)]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as program:
        assert program.stdout is not None
        program.stdout.readline()
        assert is_rank_wrapper(program.pid) is expected
        program.communicate(b"\n")
    assert not is_rank_wrapper(MISSING)


def test_a_grace_only_becomes_shorter(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr(shim_process_tree.time, "monotonic", lambda: now[0])
    ending = ProcessTreeEnding("asked", grace=30.0)
    now[0] = 110.0
    ending.shorten(60.0)
    assert ending.grace == 30.0
    ending.shorten(5.0)
    assert ending.grace == 15.0
    ending.shorten(0.0)
    assert ending.grace == 10.0


def test_everything_is_asked_once_and_killed_after_the_grace(monkeypatch: pytest.MonkeyPatch) -> None:
    now, signals, killed = [0.0], [], []
    program = ProcessInfo(8, "8 (x) S 7 " + "0 " * 40)
    wrapper = ProcessInfo(7, "7 (x) S 1 " + "0 " * 40)
    monkeypatch.setattr(shim_process_tree.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(shim_process_tree, "living_descendants", lambda _: [wrapper, program])
    monkeypatch.setattr(shim_process_tree, "is_rank_wrapper", lambda pid: pid == 7)
    monkeypatch.setattr(
        shim_process_tree, "signal_pids", lambda pids, number: signals.append((list(pids), number))
    )
    monkeypatch.setattr(shim_process_tree, "kill_descendants", lambda *_: killed.append(now[0]))
    ending = ProcessTreeEnding("asked", grace=10.0)
    for second in (0.0, 1.0, 4.0, 5.0, 6.0, 10.0):
        now[0] = second
        assert ending.advance() == [wrapper, program]
    assert signals == [([7], signal.SIGTERM), ([], signal.SIGTERM)]
    assert killed == [10.0]


def test_a_boot_has_its_id() -> None:
    assert len(read_boot_id()) == 36 and read_boot_id() == read_boot_id()


def test_the_memory_of_the_arguments_is_found() -> None:
    _, room = find_argument_memory()
    assert room == len(Path("/proc/self/cmdline").read_bytes())
