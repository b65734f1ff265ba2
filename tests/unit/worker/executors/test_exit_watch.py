"""The scheduler is woken by the end of a shim, and at once for one that had ended before it was watched."""

import select
import subprocess
import sys
from collections.abc import Iterator

import pytest

from worker.executors.contract import Handle
from worker.executors.exit_watch import ExitWatch, open_pidfd
from worker.inside.shim_process_tree import read_process


class Waiting:
    """A process that ends when it is let go."""

    def __init__(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", "input()"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL
        )
        found = read_process(self.process.pid)
        assert found is not None
        self.handle: Handle = {"pid": self.process.pid, "start_ticks": found.start_ticks, "boot_id": "b"}

    def end(self) -> None:
        if self.process.poll() is None:
            self.process.communicate(b"\n")


@pytest.fixture
def shim() -> Iterator[Waiting]:
    waiting = Waiting()
    yield waiting
    waiting.end()


def is_readable(descriptors: list[int]) -> bool:
    return bool(select.select(descriptors, [], [], 0)[0])


def test_the_end_of_a_watched_process_makes_its_descriptor_readable(shim: Waiting) -> None:
    watch = ExitWatch()
    descriptors = watch.update([shim.handle])
    assert len(descriptors) == 1 and not is_readable(descriptors)
    assert watch.update([shim.handle]) == descriptors
    shim.end()
    assert is_readable(descriptors)
    assert watch.update([]) == []


def test_one_that_had_ended_already_is_told_of_once(shim: Waiting) -> None:
    shim.end()
    watch = ExitWatch()
    assert watch.update([shim.handle]) == []
    assert watch.has_exit_before_watch
    watch.update([shim.handle])
    assert not watch.has_exit_before_watch


def test_a_number_that_belongs_to_somebody_else_now_is_not_watched(shim: Waiting) -> None:
    ticks = shim.handle["start_ticks"]
    assert open_pidfd(shim.process.pid, ticks - 1) is None
    watch = ExitWatch()
    assert watch.update([{**shim.handle, "start_ticks": ticks - 1}]) == []
    assert watch.has_exit_before_watch


@pytest.mark.parametrize("handle", [{}, {"simulated": True}, {"node": "w1", "pod": "gc-7-1"}])
def test_a_run_that_is_no_process_of_this_machine_has_no_descriptor(handle: Handle) -> None:
    watch = ExitWatch()
    assert watch.update([handle]) == []
    assert not watch.has_exit_before_watch
