"""Open a file below a folder component by component, so that no link leads out of it."""

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import BinaryIO

from cluster.domain.errors import GroundcrewError

FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
PASS_THROUGH = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
"""Opens a folder that this user may enter but not list: on servers only root may list the state directory."""
# O_NONBLOCK: opening a named pipe without a writer would hold the page forever.
FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK


class FileMissing(GroundcrewError):
    """There is no file of that name (yet)."""

    def __init__(self, name: str) -> None:
        super().__init__("file.missing", name=name)


class FileNotPlain(GroundcrewError):
    """The entry is not a regular file: a link, a pipe or a folder."""

    def __init__(self, name: str) -> None:
        super().__init__("file.not_plain", name=name)


def open_component(name: str, flags: int, parent: int | None) -> int:
    if parent is not None and (name in ("", ".", "..") or "/" in name or "\0" in name):
        raise FileMissing(name)
    try:
        return os.open(name, flags, dir_fd=parent)
    except (FileNotFoundError, PermissionError) as error:
        raise FileMissing(name) from error
    except OSError as error:  # ELOOP for a link, ENOTDIR for a file in the way, ENXIO for a socket.
        raise FileNotPlain(name) from error


@contextmanager
def open_folder_beneath(root: Path, *names: str) -> Iterator[int]:
    """A descriptor of `root/names…`. Only `root` itself may be a link (the administrator's choice)."""
    current = open_component(str(root), (PASS_THROUGH if names else FOLDER) & ~os.O_NOFOLLOW, None)
    try:
        for number, name in enumerate(names, 1):
            parent, current = (
                current,
                open_component(name, FOLDER if number == len(names) else PASS_THROUGH, current),
            )
            os.close(parent)
        yield current
    finally:
        os.close(current)


def list_first_names(folder: int, limit: int) -> list[str]:
    """Returns at most `limit` names, in no order. A program may have put any number of files there."""
    with os.scandir(folder) as entries:
        return [entry.name for entry in islice(entries, limit)]


def open_plain_file(folder: int, name: str) -> BinaryIO:
    """A regular file with one name. A second name (hard link) may belong to a file outside."""
    descriptor = open_component(name, FILE, folder)
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode) or status.st_nlink > 1:
        os.close(descriptor)
        raise FileNotPlain(name)
    return os.fdopen(descriptor, "rb", buffering=0)


@contextmanager
def open_file_beneath(root: Path, *names: str) -> Iterator[BinaryIO]:
    """Raises FileMissing or FileNotPlain."""
    with open_folder_beneath(root, *names[:-1]) as folder, open_plain_file(folder, names[-1]) as file:
        yield file


def read_small_file(root: Path, *names: str, limit: int = 64 * 1024) -> bytes | None:
    """The whole of a small file, or None if it is missing, larger than `limit` bytes or not plain."""
    try:
        with open_file_beneath(root, *names) as file:
            text = file.read(limit + 1)
    except (FileMissing, FileNotPlain):
        return None
    return text if len(text) <= limit else None


def duplicate_file(file: BinaryIO) -> BinaryIO:
    """Another handle of the same open file, unbuffered; `file` may be closed before it."""
    return os.fdopen(os.dup(file.fileno()), "rb", buffering=0)


def open_file_size(file: BinaryIO) -> int:
    return os.fstat(file.fileno()).st_size
