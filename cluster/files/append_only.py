"""Append lines to a file exactly once, even if the process crashed between an earlier write and its row."""

import os
import stat
from collections.abc import Sequence

from cluster.files.safe_read import FileNotPlain

FLAGS = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def append_lines(folder: int, name: str, lines: Sequence[bytes], owner: tuple[int, int] | None = None) -> int:
    """Appends the lines that the end of the file lacks and returns their number. `folder` is a descriptor. `owner` is
    user and group, those of this process if None. A line that was cut off is written again; other contents stay. Raises
    FileNotPlain, OSError.
    """
    with os.fdopen(os.open(name, FLAGS, 0o600, dir_fd=folder), "r+b") as file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode) or status.st_nlink > 1:
            raise FileNotPlain(name)
        if owner is not None:
            os.fchown(file.fileno(), *owner)
        # Only the bytes that these lines need are read, and the end of the line before them.
        file.seek(max(0, status.st_size - sum(map(len, lines)) - 1))
        end = file.read()
        cut = end[end.rfind(b"\n") + 1 :]
        is_ours = bool(cut) and any(line.startswith(cut) for line in lines)
        if is_ours:
            file.truncate(status.st_size - len(cut))
        there = set(end.splitlines(keepends=True))
        missing = [line for line in lines if line not in there]
        file.seek(0, os.SEEK_END)
        file.write(b"".join([b"\n" if cut and not is_ours else b"", *missing]))
        file.flush()
        os.fsync(file.fileno())
    return len(missing)
