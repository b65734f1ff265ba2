"""Counts the lines before a byte of a log, starting from the nearest byte up to which they are counted already."""

import os
import threading
from bisect import bisect_right
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import BinaryIO

from cluster.files.safe_read import open_file_size

COUNTED_BYTES = 64 * 1024 * 1024
BLOCK_BYTES = 256 * 1024
MARK_BYTES = 64 * 1024
"""The bytes between two marks. At most as many are counted again for a chunk that begins between them."""
SAMPLE_BYTES = 64
"""The bytes before a mark that are compared, to find a file that was written again from the start."""
MAX_FILES = 256

FileIdentity = tuple[int, int]


@dataclass
class LineMarks:
    """Marks in one file, in rising order: `counts` line ends come before byte `ends`, which follows `samples`."""

    ends: list[int] = field(default_factory=lambda: [0])
    counts: list[int] = field(default_factory=lambda: [0])
    samples: list[bytes] = field(default_factory=lambda: [b""])
    size: int = 0
    """The bytes of the file at the last reading. A file that is shorter now was written again."""
    lock: threading.Lock = field(default_factory=threading.Lock)

    def forget_from(self, number: int) -> None:
        del self.ends[number:], self.counts[number:], self.samples[number:]

    def add(self, end: int, count: int, sample: bytes) -> None:
        self.ends.append(end)
        self.counts.append(count)
        self.samples.append(sample)


class LineCounter:
    """The counter of a process. Files are identified by device and inode, so a rotated log begins at line 1 again."""

    def __init__(self) -> None:
        self.files: OrderedDict[FileIdentity, LineMarks] = OrderedDict()
        self.lock = threading.Lock()

    def count_before(self, file: BinaryIO, end: int) -> int | None:
        """The line ends before byte `end`. None if there are too many bytes to count (64 MiB)."""
        if end > COUNTED_BYTES:
            return None
        marks = self.marks_of(file)
        with marks.lock:
            if (size := open_file_size(file)) < marks.size:
                marks.forget_from(1)
            marks.size = size
            number = bisect_right(marks.ends, end) - 1
            while marks.samples[number] != read_sample(file, marks.ends[number]):
                marks.forget_from(number)
                number -= 1
            place, count = marks.ends[number], marks.counts[number]
            while place < end and (part := os.pread(file.fileno(), min(BLOCK_BYTES, end - place), place)):
                count += part.count(b"\n")
                place += len(part)
                if place >= marks.ends[-1] + MARK_BYTES:
                    marks.add(place, count, read_sample(file, place))
        return count

    def marks_of(self, file: BinaryIO) -> LineMarks:
        """The file's marks. It becomes the most recently used file, and the least recently used one is forgotten."""
        status = os.fstat(file.fileno())
        identity = status.st_dev, status.st_ino
        with self.lock:
            marks = self.files.setdefault(identity, LineMarks())
            self.files.move_to_end(identity)
            if len(self.files) > MAX_FILES:
                self.files.popitem(last=False)
            return marks


def read_sample(file: BinaryIO, end: int) -> bytes:
    """The bytes that come directly before `end`."""
    begin = max(0, end - SAMPLE_BYTES)
    return os.pread(file.fileno(), end - begin, begin)
