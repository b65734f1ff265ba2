"""(merged) Finds out whether the kernel killed one of our processes for lack of memory."""

import errno
import os
import re

FIRST_PID_NAMESPACE = "pid:[4026531836]"  # PROC_PID_INIT_INO in the kernel's include/linux/proc_ns.h
OOM_KILL_LINE = re.compile(r"Killed process (\d{1,10}) \(.{0,64}?\)(?:.{0,400} UID:(\d{1,10}))?")


class KernelOomLog:
    """Reads /dev/kmsg from this moment on. Silent where that is not allowed, or where pids differ."""

    def __init__(self):
        self.descriptor = None
        try:
            if os.readlink("/proc/self/ns/pid") != FIRST_PID_NAMESPACE:
                return
            self.descriptor = os.open("/dev/kmsg", os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
            os.lseek(self.descriptor, 0, os.SEEK_END)
        except OSError:
            self.descriptor = None

    def read_killed(self):
        """{pid: uid or None} of what the kernel killed since the last look."""
        killed = {}
        while self.descriptor is not None:
            try:
                line = os.read(self.descriptor, 8192).decode("utf-8", "replace")
            except OSError as error:
                if error.errno == errno.EPIPE:  # Some lines were overwritten before we came.
                    continue
                break
            found = OOM_KILL_LINE.search(line)
            if found:
                killed[int(found.group(1))] = int(found.group(2)) if found.group(2) else None
        return killed


class ContainerCgroup:
    """The memory cgroup of a container that holds this attempt and nothing else."""

    def __init__(self, root="/sys/fs/cgroup"):
        old, new = os.path.join(root, "memory"), root
        is_old = os.path.exists(os.path.join(old, "memory.oom_control"))
        # Linux, Documentation/admin-guide: cgroup-v1/memory.rst and cgroup-v2.rst.
        self.events = os.path.join(old, "memory.oom_control") if is_old else os.path.join(new, "memory.events")
        limit = os.path.join(old, "memory.limit_in_bytes") if is_old else os.path.join(new, "memory.max")
        self.limit = read_memory_limit(limit)
        self.before = read_oom_kills(self.events)

    def has_oom_kill(self):
        """Whether the kernel has ended something in it since."""
        return read_oom_kills(self.events) > self.before


def read_memory_limit(path):
    """Bytes; None where there is none. Version 1 says "no limit" by a number next to 2**63."""
    try:
        with open(path) as file:
            limit = int(file.read())
    except (OSError, ValueError):
        return None
    return limit if limit < 2 ** 60 else None


def read_oom_kills(path):
    try:
        with open(path) as file:
            words = dict(line.split()[:2] for line in file if len(line.split()) >= 2)
        return int(words.get("oom_kill", 0))
    except (OSError, ValueError):
        return 0


def has_killed_ours(killed, pids, uid):
    """`pids` are those that we saw or that the ranks named; the kernel's uid must not contradict."""
    return any(pid in pids and (its is None or uid is None or its == uid) for pid, its in killed.items())
