"""Combines the launcher's exit, the ranks' exits and the kernel's out-of-memory kills into exit.json.

Out-of-memory kills are read from the kernel's log and from the container's cgroup.
"""

import errno
import os
import re
import signal
from typing import AbstractSet, Any, Dict, List, Optional, Tuple

import shim_files

FIRST_PID_NAMESPACE = "pid:[4026531836]"  # PROC_PID_INIT_INO in the kernel's include/linux/proc_ns.h
OOM_KILL_LINE = re.compile(r"Killed process (\d{1,10}) \(.{0,64}?\)(?:.{0,400} UID:(\d{1,10}))?")


def parse_wait_status(status: Optional[int]) -> Tuple[Optional[int], Optional[int]]:
    """(exit code as a shell says it, signal or None) of a wait status."""
    if status is None:
        return None, None
    if os.WIFSIGNALED(status):
        return 128 + os.WTERMSIG(status), os.WTERMSIG(status)
    return os.WEXITSTATUS(status), None


def read_ranks(plan: Dict[str, Any]) -> List[Dict[str, Any]]:
    """The valid records of the ranks' wrappers. A wrapper that was killed wrote none."""
    ranks = []
    for number in range(int(plan.get("ranks") or 1)):
        told = shim_files.read_untrusted_json(plan["out"], "rank-%d.exit.json" % number)
        rank = parse_rank(number, told) if told else None
        if rank:
            ranks.append(rank)
    return ranks


def parse_rank(number: int, told: Any) -> Optional[Dict[str, Any]]:
    exit_code, by, ended, pid = (told.get(key) for key in ("exit_code", "signal", "ended", "pid"))
    if not is_natural_number(exit_code) or exit_code > 255:
        return None
    return {
        "rank": number,
        "exit_code": exit_code,
        "signal": by if is_natural_number(by) and 0 < by < 65 else None,
        "ended": float(ended) if isinstance(ended, (int, float)) else float("inf"),
        "pid": pid if is_natural_number(pid) else 0,
    }


def is_natural_number(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def was_sigkilled(status: Optional[int], ranks: List[Dict[str, Any]]) -> bool:
    """Whether the launcher or a rank ended by SIGKILL."""
    codes = [parse_wait_status(status)[0]] + [rank["exit_code"] for rank in ranks]
    return 128 + signal.SIGKILL in codes


def first_failed(ranks: List[Dict[str, Any]]) -> Optional[Dict[str, Any]]:
    """The rank that failed first, before the launcher ended the others. None if none failed."""
    failed = [rank for rank in ranks if rank["exit_code"] != 0]
    return min(failed, key=lambda rank: rank["ended"]) if failed else None


def combine_exits(
    status: Optional[int], problem: Optional[Dict[str, Any]], ranks: List[Dict[str, Any]]
) -> Dict[str, Any]:
    """Exit code, signal, first failed rank and error. A rank's record counts only if the rank failed."""
    worst = first_failed(ranks)
    exit_code, by = parse_wait_status(status)
    error = None
    if problem:
        exit_code, by = problem["exit_code"], None
        error = "exit.not_started" if exit_code is None else None
    elif worst:
        exit_code, by = worst["exit_code"], worst["signal"]
    return {
        "exit_code": exit_code,
        "signal": by,
        "launcher_exit_code": parse_wait_status(status)[0],
        "ranks": [{key: rank[key] for key in ("rank", "exit_code", "signal")} for rank in ranks],
        "first_failed_rank": worst["rank"] if worst else None,
        "error": error,
    }


class KernelOomLog:
    """Reads /dev/kmsg from now on. It finds nothing if that is not permitted, or in another pid namespace."""

    def __init__(self) -> None:
        self.descriptor: Optional[int] = None
        try:
            if os.readlink("/proc/self/ns/pid") != FIRST_PID_NAMESPACE:
                return
            self.descriptor = os.open("/dev/kmsg", os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
            os.lseek(self.descriptor, 0, os.SEEK_END)
        except OSError:
            self.descriptor = None

    def read_killed(self) -> Dict[int, Optional[int]]:
        """{pid: uid or None} of the processes that the kernel killed since the last call."""
        killed: Dict[int, Optional[int]] = {}
        while self.descriptor is not None:
            try:
                line = os.read(self.descriptor, 8192).decode("utf-8", "replace")
            except OSError as error:
                if error.errno == errno.EPIPE:  # Some lines were overwritten before they were read.
                    continue
                break
            found = OOM_KILL_LINE.search(line)
            if found:
                killed[int(found.group(1))] = int(found.group(2)) if found.group(2) else None
        return killed


class ContainerCgroup:
    """The memory cgroup of a container that contains only this attempt."""

    def __init__(self, root: str = "/sys/fs/cgroup") -> None:
        old, new = os.path.join(root, "memory"), root
        is_old = os.path.exists(os.path.join(old, "memory.oom_control"))
        # Source: Linux, Documentation/admin-guide: cgroup-v1/memory.rst and cgroup-v2.rst.
        self.events = (
            os.path.join(old, "memory.oom_control") if is_old else os.path.join(new, "memory.events")
        )
        limit = os.path.join(old, "memory.limit_in_bytes") if is_old else os.path.join(new, "memory.max")
        self.limit = read_memory_limit(limit)
        self.before = read_oom_kills(self.events)

    def has_oom_kill(self) -> bool:
        """Whether the kernel has killed a process in it since it was opened."""
        return read_oom_kills(self.events) > self.before


def read_memory_limit(path: str) -> Optional[int]:
    """The limit in bytes, or None. Version 1 has a number next to 2**63 if there is no limit."""
    try:
        with open(path) as file:
            limit = int(file.read())
    except (OSError, ValueError):
        return None
    return limit if limit < 2**60 else None


def read_oom_kills(path: str) -> int:
    try:
        with open(path) as file:
            words = dict(line.split()[:2] for line in file if len(line.split()) >= 2)
        return int(words.get("oom_kill", 0))
    except (OSError, ValueError):
        return 0


def has_killed_ours(
    killed: Dict[int, Optional[int]], pids: AbstractSet[Optional[int]], uid: Optional[int]
) -> bool:
    """Whether a killed process was ours. `pids` are those that we saw or the ranks recorded;
    the uid must not differ.
    """
    return any(pid in pids and (its is None or uid is None or its == uid) for pid, its in killed.items())
