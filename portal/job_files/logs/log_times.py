"""Reads when the log files of an attempt grew (control/log_times, which worker/inside/shim_log_times.py writes)."""

import os
import threading
from bisect import bisect_left, bisect_right
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from cluster.files.safe_read import FileMissing, FileNotPlain, open_file_beneath, read_small_file

FILE = "log_times"
LARGEST_FILE = 1024 * 1024
"""The most bytes that are read. The shim keeps the file below a third of that. Without root the program may write the
file too, so it is untrusted.
"""
LATEST_TIME = 2.0**33
"""Unix seconds in the year 2242. Later times are no times."""
LARGEST_SIZE = 2**53


@dataclass
class FileTimes:
    """All bytes before `sizes[n]` were written by the time `times[n]` (Unix seconds). Both rise."""

    sizes: list[int] = field(default_factory=list)
    times: list[float] = field(default_factory=list)

    def add(self, size: int, time: float) -> None:
        """Adds an entry. A smaller size than before means that the file was written again from its beginning. A time
        never decreases.
        """
        if self.sizes and size <= self.sizes[-1]:
            self.sizes.clear()
            self.times.clear()
        self.sizes.append(size)
        self.times.append(max(time, self.times[-1]) if self.times else time)

    def time_of(self, offset: int) -> float | None:
        """The time at which the byte existed, up to a second late. None if it was written after the last entry."""
        place = bisect_right(self.sizes, offset)
        return self.times[place] if place < len(self.times) else None

    def entries_within(self, begin: int, end: int) -> list[tuple[int, float]]:
        """Sizes and times that give each byte from `begin` until before `end` its time, as far as it is known."""
        first = bisect_right(self.sizes, begin)
        last = bisect_left(self.sizes, end, first)
        return list(zip(self.sizes[first : last + 1], self.times[first : last + 1], strict=True))

    def size_before(self, time: float) -> int:
        """The bytes that were written before `time`."""
        place = bisect_left(self.times, time)
        return self.sizes[place - 1] if place else 0


@dataclass(frozen=True)
class AttemptLogTimes:
    """The times of all logs of an attempt by file name. Nothing is known of a file without an entry."""

    files: Mapping[str, FileTimes]

    def of_file(self, name: str) -> FileTimes:
        return self.files.get(name) or FileTimes()


def read_log_times(root: Path, *control: str) -> AttemptLogTimes:
    return parse_log_times(read_small_file(root, *control, FILE, limit=LARGEST_FILE) or b"")


def parse_log_times(content: bytes) -> AttemptLogTimes:
    """A line that is no entry is left out, also a last line without its end."""
    files: dict[str, FileTimes] = {}
    for line in content.decode("ascii", "replace").splitlines(keepends=True):
        words = line.split(" ")
        if len(words) != 3 or not line.endswith("\n"):
            continue
        try:
            time, size = float(words[0]), int(words[2])
        except ValueError:
            continue
        if 0 < time < LATEST_TIME and 0 < size < LARGEST_SIZE:
            files.setdefault(words[1], FileTimes()).add(size, time)
    return AttemptLogTimes(files)


class LogTimesCache:
    """Log times of the attempts that were read last, so that readers of a log do not parse the same file again."""

    MOST_FILES = 32

    def __init__(self) -> None:
        self.parsed: OrderedDict[tuple[int, int], tuple[tuple[int, int], AttemptLogTimes]] = OrderedDict()
        self.lock = threading.Lock()

    def read(self, root: Path, *control: str) -> AttemptLogTimes:
        """Files are identified by device and inode, and read again once their size or time of change differs."""
        try:
            with open_file_beneath(root, *control, FILE) as file:
                status = os.fstat(file.fileno())
                identity, version = (status.st_dev, status.st_ino), (status.st_size, status.st_mtime_ns)
                with self.lock:
                    kept = self.parsed.get(identity)
                if kept is not None and kept[0] == version:
                    return kept[1]
                times = parse_log_times(file.read(LARGEST_FILE) if status.st_size <= LARGEST_FILE else b"")
        except (FileMissing, FileNotPlain):
            return AttemptLogTimes({})
        with self.lock:
            self.parsed[identity] = version, times
            self.parsed.move_to_end(identity)
            while len(self.parsed) > self.MOST_FILES:
                self.parsed.popitem(last=False)
        return times
