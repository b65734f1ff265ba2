"""Watches the processes of shims by pidfd, so that the scheduler wakes as soon as one exits."""

import os
from collections.abc import Iterable

from worker.executors.contract import Handle
from worker.inside.shim_process_tree import read_process


class ExitWatch:
    """The pidfds of the shims that are alive."""

    def __init__(self) -> None:
        self.descriptors: dict[tuple[int, int], int] = {}
        self.exited: set[tuple[int, int]] = set()
        """The runs that had ended before a pidfd was opened."""
        self.has_exit_before_watch = False
        """Whether the last `update` found such a run for the first time; the scheduler then reconciles at once."""

    def update(self, handles: Iterable[Handle]) -> list[int]:
        """One descriptor per run that is a process of this machine. Descriptors of other runs are closed."""
        wanted = {
            (handle["pid"], handle["start_ticks"])
            for handle in handles
            if isinstance(handle.get("pid"), int) and isinstance(handle.get("start_ticks"), int)
        }
        for key in self.descriptors.keys() - wanted:
            os.close(self.descriptors.pop(key))
        self.exited &= wanted
        known = self.descriptors.keys() | self.exited
        for key in wanted - known:
            descriptor = open_pidfd(*key)
            if descriptor is not None:
                self.descriptors[key] = descriptor
            else:
                self.exited.add(key)
        self.has_exit_before_watch = not self.exited <= known
        return list(self.descriptors.values())


def open_pidfd(pid: int, start_ticks: int) -> int | None:
    """Returns None if the process has ended or if its pid belongs to another process now."""
    try:
        descriptor = os.pidfd_open(pid)
    except OSError:
        return None
    process = read_process(pid)
    if process is None or process.start_ticks != start_ticks or process.is_gone():
        os.close(descriptor)
        return None
    return descriptor
