"""Reads a log in chunks by byte offset, without gaps or repeated bytes while the file grows."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from cluster.files.safe_read import (
    FileMissing,
    FileNotPlain,
    list_first_names,
    open_file_size,
    open_folder_beneath,
    open_plain_file,
)

CHUNK_BYTES = 256 * 1024
LOG_FILE_NAME = re.compile(r"rank-(0|[1-9][0-9]{0,3})\.(stdout|stderr)|launcher\.(stdout|stderr)")
FOLDER_LIMIT = 4096
KINDS = ("stdout", "stderr")
LAUNCHER_LOG = "launcher"


@dataclass(frozen=True)
class LogFile:
    """One log file: a rank's stdout or stderr, or the launcher's. `size` is in bytes."""

    name: str
    size: int
    is_plain: bool = True

    @property
    def source(self) -> str:
        return self.name.rsplit(".", 1)[0]

    @property
    def rank(self) -> int | None:
        return None if self.source == "launcher" else int(self.source.removeprefix("rank-"))

    @property
    def kind(self) -> str:
        return self.name.rsplit(".", 1)[1]


@dataclass(frozen=True)
class LogChunk:
    """The bytes `start` to `next` of a file that had `size` bytes when it was read."""

    start: int
    next: int
    size: int
    data: bytes

    @property
    def is_end(self) -> bool:
        return self.next >= self.size

    @property
    def text(self) -> str:
        return self.data.decode("utf-8", "replace")


def log_file_name(rank: str, kind: str) -> str:
    """`rank` is a number as text or `launcher`."""
    return f"{LAUNCHER_LOG}.{kind}" if rank == LAUNCHER_LOG else f"rank-{rank}.{kind}"


def is_log_file_name(name: str) -> bool:
    return LOG_FILE_NAME.fullmatch(name) is not None


def list_attempt_logs(root: Path, *folder: str) -> list[LogFile]:
    """The ranks in order, stdout before stderr, and the launcher last. Empty if there is no folder yet."""
    streams = []
    try:
        with open_folder_beneath(root, *folder) as opened:
            names = list_first_names(opened, FOLDER_LIMIT)
            for name in filter(is_log_file_name, names):
                try:
                    with open_plain_file(opened, name) as file:
                        streams.append(LogFile(name, open_file_size(file)))
                except FileNotPlain:
                    streams.append(LogFile(name, 0, is_plain=False))
                except FileMissing:
                    continue
    except (FileMissing, FileNotPlain):
        return []
    return sorted(streams, key=lambda one: (one.rank is None, one.rank or 0, one.kind != "stdout"))


def read_log_chunk(file: BinaryIO, offset: int, limit: int = CHUNK_BYTES) -> LogChunk:
    """Reads at most `limit` bytes from `offset`. A negative offset counts from the end and moves to the next line's
    beginning.

    The chunk ends at the end of a line if it contains one, else at the end of a character. Only at the end of the
    file an incomplete line is returned.
    """
    size = open_file_size(file)
    limit = max(1, min(limit, CHUNK_BYTES))
    start = min(size, offset if offset >= 0 else max(0, size + offset))
    file.seek(start)
    data = read_fully(file, min(limit, size - start))
    if offset < 0 and start > 0:
        file.seek(start - 1)
        if file.read(1) != b"\n" and b"\n" in data:
            skipped = data.index(b"\n") + 1
            start, data = start + skipped, data[skipped:]
    if start + len(data) < size and b"\n" in data:
        data = data[: data.rindex(b"\n") + 1]
    return LogChunk(start, start + len(data := cut_to_whole_characters(data)), size, data)


def read_fully(file: BinaryIO, count: int) -> bytes:
    parts = []
    while count > 0 and (part := file.read(count)):
        parts.append(part)
        count -= len(part)
    return b"".join(parts)


def cut_to_whole_characters(data: bytes) -> bytes:
    """Cuts the beginning of a UTF-8 character whose rest is missing (at most three bytes)."""
    for back in range(1, min(3, len(data) - 1) + 1):
        byte = data[-back]
        if byte & 0xC0 == 0x80:
            continue
        needed = 4 if byte >= 0xF0 else 3 if byte >= 0xE0 else 2 if byte >= 0xC0 else 1
        return data[:-back] if needed > back else data
    return data
