"""Measures the disk usage of a folder and the writes of processes, and detects a full disk."""

import errno
import os
import stat
import time
from typing import Iterable, Optional

FULL = (errno.ENOSPC, errno.EDQUOT)
FULL_BELOW_BYTES = 64 * 1024
"""Bytes. What is left of a full disk is mostly not quite nothing."""
BLAMED_SECONDS = 10.0
"""Seconds between a full disk and the end of a program that counts as its consequence."""
MOST_ENTRIES = 50000
DEEPEST = 32
FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
BLOCK = 512


class DiskFullWatch:
    """Remembers when the disk of a folder was full last."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.full_at: Optional[float] = None

    def check(self) -> None:
        if is_full(self.folder):
            self.full_at = time.monotonic()

    def note_write_error(self, error: Exception) -> None:
        """We could not write ourselves."""
        if getattr(error, "errno", None) in FULL:
            self.full_at = time.monotonic()

    def was_full(self, ended: Optional[float] = None) -> bool:
        """Whether it was, shortly before this moment."""
        moment = time.monotonic() if ended is None else ended
        return self.full_at is not None and moment - self.full_at <= BLAMED_SECONDS


def is_full(folder: str) -> bool:
    """Whether a user without rights can write nothing more there: no bytes, or no further file."""
    try:
        found = os.statvfs(folder)
    except OSError:
        return False
    return found.f_bavail * found.f_frsize < FULL_BELOW_BYTES or (found.f_files > 0 and found.f_favail == 0)


def folder_size(folder: str, most: int = MOST_ENTRIES) -> Optional[int]:
    """Bytes that it takes on the disk, as far as `most` entries tell; None where it cannot be read.

    Strangers write in it: no link is followed, and what is deeper than 32 folders is not counted.
    """
    try:
        descriptor = os.open(folder, FOLDER)
    except OSError:
        return None
    try:
        return _Count(most).count(descriptor, 0)
    finally:
        os.close(descriptor)


class _Count:
    def __init__(self, most: int) -> None:
        self.left = most

    def count(self, descriptor: int, depth: int) -> int:
        size = 0
        try:
            with os.scandir(descriptor) as entries:
                for entry in entries:
                    if self.left <= 0:
                        break
                    self.left -= 1
                    size += self.count_entry(descriptor, entry.name, depth)
        except OSError:
            pass  # It was closed or removed meanwhile.
        return size

    def count_entry(self, parent: int, name: str, depth: int) -> int:
        try:
            facts = os.stat(name, dir_fd=parent, follow_symlinks=False)
            size = facts.st_blocks * BLOCK // max(1, facts.st_nlink if stat.S_ISREG(facts.st_mode) else 1)
            if stat.S_ISDIR(facts.st_mode) and depth < DEEPEST:
                below = os.open(name, FOLDER, dir_fd=parent)
                try:
                    size += self.count(below, depth + 1)
                finally:
                    os.close(below)
            return size
        except OSError:
            return 0


def bytes_written_by(pids: Iterable[int]) -> int:
    """Bytes that these living processes have sent to disks; those of an unreadable one do not count."""
    return sum(_written(pid) for pid in pids)


def _written(pid: int) -> int:
    try:
        with open("/proc/%d/io" % pid) as file:
            facts = dict(line.split(":") for line in file)
        return max(0, int(facts["write_bytes"]) - int(facts["cancelled_write_bytes"]))
    except (OSError, ValueError, KeyError):
        return 0
