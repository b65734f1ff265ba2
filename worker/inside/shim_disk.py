"""Measures the disk usage of a folder and the writes of processes, and detects a full disk."""

import errno
import os
import stat
import time
from typing import Iterable, Optional

FULL = (errno.ENOSPC, errno.EDQUOT)
FULL_BELOW_BYTES = 64 * 1024
"""Bytes. A disk with less free space counts as full, because a full one mostly still reports a little."""
BLAMED_SECONDS = 10.0
"""Seconds after a full disk within which the end of a program counts as its consequence."""
MOST_ENTRIES = 50000
DEEPEST = 32
FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
BLOCK = 512


class DiskFullWatch:
    """Remembers when the disk of a folder was last full."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.full_at: Optional[float] = None

    def check(self) -> None:
        if is_full(self.folder):
            self.full_at = time.monotonic()

    def note_write_error(self, error: Exception) -> None:
        """Records that our own write failed."""
        if getattr(error, "errno", None) in FULL:
            self.full_at = time.monotonic()

    def was_full(self, ended: Optional[float] = None) -> bool:
        """Whether the disk was full shortly before `ended`."""
        moment = time.monotonic() if ended is None else ended
        return self.full_at is not None and moment - self.full_at <= BLAMED_SECONDS


def is_full(folder: str) -> bool:
    """Whether an unprivileged user can write nothing more there, because neither bytes nor inodes are left."""
    try:
        found = os.statvfs(folder)
    except OSError:
        return False
    return found.f_bavail * found.f_frsize < FULL_BELOW_BYTES or (found.f_files > 0 and found.f_favail == 0)


def folder_size(folder: str, most: int = MOST_ENTRIES) -> Optional[int]:
    """The bytes that the folder takes on the disk, counted over at most `most` entries. None if it cannot be read.

    Untrusted users write there: no link is followed, and folders below a depth of 32 are not counted.
    """
    try:
        descriptor = os.open(folder, FOLDER)
    except OSError:
        return None
    try:
        return _SizeCount(most).count(descriptor, 0)
    finally:
        os.close(descriptor)


class _SizeCount:
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
            pass  # The file was closed or removed in between.
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
    """The bytes that these processes have written to disks. Processes that cannot be read do not count."""
    return sum(_written(pid) for pid in pids)


def _written(pid: int) -> int:
    try:
        with open("/proc/%d/io" % pid) as file:
            facts = dict(line.split(":") for line in file)
        return max(0, int(facts["write_bytes"]) - int(facts["cancelled_write_bytes"]))
    except (OSError, ValueError, KeyError):
        return 0
