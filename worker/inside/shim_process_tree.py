"""Finds, measures and ends all descendants of a process through /proc, and gives a forked process its title.

A tree is ended in three stages: programs get SIGTERM, then all processes get it, then all get SIGKILL.
"""

import ctypes
import functools
import os
import signal
import time
from typing import Any, Callable, Dict, Iterable, List, Optional, Set, Tuple

TICKS = os.sysconf("SC_CLK_TCK")
PAGE = os.sysconf("SC_PAGE_SIZE")
FREEZE_SECONDS = 0.5
ENOUGH_SCANS = 2
QUICK_LOOKS = 20
GRACE_SECONDS = 5.0
"""Seconds between SIGTERM and SIGKILL. The whole tree is gone within 10 s of a stop."""
LONGEST_CHECKPOINT_GRACE = 60.0
"""The greatest part of a program's grace time that it gets for a checkpoint when the services stop. Seconds."""


class ProcessInfo:
    """The values of /proc/<pid>/stat. `cpu_seconds` includes the children that the process has waited for."""

    def __init__(self, pid: int, text: str) -> None:
        # The command's name is in brackets and may contain anything, brackets too.
        fields = text[text.rindex(")") + 2 :].split()
        self.pid = pid
        self.state = fields[0]
        self.parent = int(fields[1])
        self.cpu_seconds = sum(int(ticks) for ticks in fields[11:15]) / float(TICKS)
        self.start_ticks = int(fields[19])
        self.rss_bytes = int(fields[21]) * PAGE

    def is_gone(self) -> bool:
        return self.state in "ZXx"


def read_process(pid: int) -> Optional[ProcessInfo]:
    """The process, or None if it does not exist (any more)."""
    try:
        with open("/proc/%d/stat" % pid, errors="replace") as file:
            return ProcessInfo(pid, file.read())
    except (OSError, ValueError, IndexError):
        return None


def list_pids() -> List[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def living_descendants(root: int) -> List[ProcessInfo]:
    """Every process below `root` that is alive, in no order. Zombies are left out."""
    children: Dict[int, List[ProcessInfo]] = {}
    for pid in list_pids():
        process = read_process(pid)
        if process is not None:
            children.setdefault(process.parent, []).append(process)
    found: List[ProcessInfo] = []
    to_visit = [root]
    while to_visit:
        below = children.get(to_visit.pop(), [])
        found.extend(below)
        to_visit.extend(process.pid for process in below)
    return [process for process in found if not process.is_gone()]


def kill_descendants(root: int, reap: Callable[[], object] = lambda: None) -> List[ProcessInfo]:
    """Stops all descendants of `root` until two scans in a row find no new one, then kills them; returns them.

    It is weaker than a cgroup (shim_cgroup): a process that forks and leaves its parent faster than one scan escapes
    until a later call. Call it until it finds none. `reap` reaps ended processes, because many zombies slow down each
    scan.
    """
    stopped: Set[Tuple[int, int]] = set()
    agreed, until = 0, time.monotonic() + FREEZE_SECONDS
    found: List[ProcessInfo] = []
    while agreed < ENOUGH_SCANS and time.monotonic() < until:
        for _ in range(QUICK_LOOKS):
            # Orphans become our children, the newest last; this file lists them quickly.
            reap()
            signal_pids(reversed(children_of(root)), signal.SIGSTOP, wake=False)
        found = living_descendants(root)
        new = [each for each in found if (each.pid, each.start_ticks) not in stopped]
        signal_pids([each.pid for each in new], signal.SIGSTOP, wake=False)
        stopped |= {(each.pid, each.start_ticks) for each in new}
        agreed = 0 if new else agreed + 1
    signal_pids([each.pid for each in found], signal.SIGKILL)
    return found


def children_of(pid: int) -> List[int]:
    """The children's pids. Empty if the kernel has no such file (CONFIG_PROC_CHILDREN)."""
    try:
        with open("/proc/%d/task/%d/children" % (pid, pid)) as file:
            return [int(word) for word in file.read().split()]
    except OSError:
        return []


def find_argument_memory() -> Tuple[int, int]:
    """Address and length of this process's own arguments, as /proc/self/stat tells them (proc(5), 48 and 49)."""
    with open("/proc/self/stat") as file:
        fields = file.read().rpartition(")")[2].split()
    begin, end = int(fields[45]), int(fields[46])
    return begin, end - begin


def set_process_title(words: List[str]) -> None:
    """Sets what `ps` and the executor see, cut to the room that there is."""
    begin, room = find_argument_memory()
    text = b"".join(os.fsencode(word) + b"\0" for word in words)[: room - 1]
    ctypes.memmove(begin, text + b"\0" * (room - len(text)), room)


def can_set_process_title(words: List[str]) -> bool:
    """Whether this process now has these words as its title."""
    try:
        set_process_title(words)
        with open("/proc/self/cmdline", "rb") as file:
            return file.read().rstrip(b"\0").split(b"\0") == [os.fsencode(word) for word in words]
    except (OSError, ValueError, IndexError):
        return False


def is_rank_wrapper(pid: int) -> bool:
    """Whether the process is a rank's wrapper, which passes signals on to its program."""
    try:
        with open("/proc/%d/cmdline" % pid, "rb") as file:
            words = file.read(4096).split(b"\0")
    except OSError:
        return False
    return len(words) > 1 and words[1].endswith(b"/shim_rank.py")


def signal_pids(pids: Iterable[int], number: int, wake: bool = True) -> None:
    """Sends the signal. With `wake`, stopped processes get SIGCONT too, or they would not react to SIGTERM."""
    for pid in pids:
        for each in (number, signal.SIGCONT) if wake else (number,):
            try:
                os.kill(pid, each)
            except OSError:
                break


class ProcessTreeEnding:
    """Ends a tree of processes. Launchers get SIGTERM only in the second half, because they end their ranks within
    seconds.

    In the first half each rank's program can save a checkpoint and end by itself.
    """

    def __init__(
        self,
        why: str,
        grace: float = GRACE_SECONDS,
        group: Any = None,
        reap: Callable[[], object] = lambda: None,
    ) -> None:
        """`group` contains all processes to end (shim_cgroup.Cgroup). Without one they are searched below this
        process.

        `reap` reaps ended processes.
        """
        self.reap = reap
        self.why = why
        self.group = group
        self.grace = grace
        self.since = time.monotonic()
        self.has_signalled_programs = self.has_signalled_all = False

    def shorten(self, grace: float) -> None:
        """Limits the grace time to so many seconds from now on; 0 ends it."""
        self.grace = min(self.grace, time.monotonic() - self.since + grace)

    def advance(self) -> List[ProcessInfo]:
        """Does the next step and returns the processes that are alive. Call it until there are none."""
        living = living_descendants(os.getpid())
        waited = time.monotonic() - self.since
        wrappers = [] if self.has_signalled_all else [one.pid for one in living if is_rank_wrapper(one.pid)]
        if not self.has_signalled_programs:
            signal_pids(wrappers or [one.pid for one in living], signal.SIGTERM)
            self.has_signalled_programs, self.has_signalled_all = True, not wrappers
        elif waited >= self.grace:
            if self.group:
                self.group.end()
            # This also finds processes that were never in the group.
            kill_descendants(os.getpid(), self.reap)
        elif not self.has_signalled_all and (waited >= self.grace / 2 or not wrappers):
            # A program that gets two signals could be interrupted while it saves.
            others = [one.pid for one in living if one.pid not in wrappers and one.parent not in wrappers]
            signal_pids(others, signal.SIGTERM)
            self.has_signalled_all = True
        return living


@functools.lru_cache(maxsize=None)
def read_boot_id() -> str:
    """The boot's id, which is the same for as long as this process lives."""
    with open("/proc/sys/kernel/random/boot_id") as file:
        return file.read().strip()
