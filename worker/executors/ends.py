"""Tells at once that a run has ended: a descriptor of its process becomes readable, and nobody has to look."""

import os
from collections.abc import Iterable

from worker.executors.contract import Handle
from worker.inside.shim_tree import read_process


class Ends:
    """Descriptors of the living shims that are known."""

    def __init__(self) -> None:
        self.open: dict[tuple[int, int], int] = {}
        self.over: set[tuple[int, int]] = set()
        """Those that had ended before they could be followed."""
        self.has_missed = False
        """Whether there is one of them about which `follow` was asked for the first time: it is time to look."""

    def follow(self, handles: Iterable[Handle]) -> list[int]:
        """One descriptor per run that is a process of this machine; those of other runs are closed."""
        wanted = {
            (handle["pid"], handle["start_ticks"])
            for handle in handles
            if isinstance(handle.get("pid"), int) and isinstance(handle.get("start_ticks"), int)
        }
        for key in self.open.keys() - wanted:
            os.close(self.open.pop(key))
        self.over &= wanted
        known = self.open.keys() | self.over
        for key in wanted - known:
            descriptor = open_process(*key)
            if descriptor is not None:
                self.open[key] = descriptor
            else:
                self.over.add(key)
        self.has_missed = not self.over <= known
        return list(self.open.values())


def open_process(pid: int, start_ticks: int) -> int | None:
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
