"""Tells whether the kernel ended one of our processes for want of memory: known from its log, or not said."""

import errno
import os
import re

FIRST_PID_NAMESPACE = "pid:[4026531836]"  # PROC_PID_INIT_INO in the kernel's include/linux/proc_ns.h
KILLED = re.compile(r"Killed process (\d+) \(.*?\)(?:.* UID:(\d+))?")


class KernelLog:
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
            found = KILLED.search(line)
            if found:
                killed[int(found.group(1))] = int(found.group(2)) if found.group(2) else None
        return killed


def was_ours(killed, pids, uid):
    """`pids` are those that we saw or that the ranks named; the kernel's uid must not contradict."""
    return any(pid in pids and (its is None or uid is None or its == uid) for pid, its in killed.items())
