"""Watches the processes of shims by pidfd, so that the scheduler wakes at the moment when one exits."""

import os
from collections.abc import Iterable

from worker.executors.contract import Handle
from worker.inside.shim_process_tree import read_process


class ExitWatch:
    """Descriptors of the living shims that are known."""

    def __init__(self) -> None:
        self.descriptors: dict[tuple[int, int], int] = {}
        self.exited: set[tuple[int, int]] = set()
        """Those that had ended before they could be followed."""
        self.has_exit_before_watch = False
        """Whether there is one of them about which `update` was asked for the first time: it is time to look."""

    def update(self, handles: Iterable[Handle]) -> list[int]:
        """One descriptor per run that is a process of this machine; those of other runs are closed."""
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
    """None where it has ended, or where its number belongs to somebody else now."""
    try:
        descriptor = os.pidfd_open(pid)
    except OSError:
        return None
    process = read_process(pid)
    if process is None or process.start_ticks != start_ticks or process.is_gone():
        os.close(descriptor)
        return None
    return descriptor
