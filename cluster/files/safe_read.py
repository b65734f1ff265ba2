"""Open a file below a folder component by component, so that no link leads out of it."""

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import BinaryIO

from cluster.domain.errors import GroundcrewError

FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
PASS_THROUGH = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
"""Opens a folder that this user may enter but not list: on servers only root may list the state directory."""
# O_NONBLOCK: opening a named pipe without a writer would hold the page forever.
FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK


MAY_READ, MAY_ENTER = 0o4, 0o1
"""The bits of a mode that reading needs, and those that passing through a folder needs."""


@dataclass(frozen=True)
class FileReader:
    """The user and group for whom this process reads. The process itself may read more than they may."""

    uid: int
    gid: int

    def may(self, status: os.stat_result, bits: int) -> bool:
        """Whether owner, group and mode of a file let this user and group do what `bits` say."""
        shift = 6 if status.st_uid == self.uid else 3 if status.st_gid == self.gid else 0
        return (status.st_mode >> shift) & bits == bits

    def may_read(self, status: os.stat_result) -> bool:
        return self.may(status, MAY_READ | MAY_ENTER if stat.S_ISDIR(status.st_mode) else MAY_READ)


class FileMissing(GroundcrewError):
    """There is no file of that name (yet)."""

    def __init__(self, name: str) -> None:
        super().__init__("file.missing", name=name)


class FileNotPlain(GroundcrewError):
    """The entry is no regular file but a link, a pipe or a folder."""

    def __init__(self, name: str) -> None:
        super().__init__("file.not_plain", name=name)


def open_component(name: str, flags: int, parent: int | None, reader: FileReader | None = None) -> int:
    """A file that `reader` may not open is missing for them. Raises FileMissing or FileNotPlain."""
    if parent is not None and (name in ("", ".", "..") or "/" in name or "\0" in name):
        raise FileMissing(name)
    try:
        descriptor = os.open(name, flags, dir_fd=parent)
    except (FileNotFoundError, PermissionError) as error:
        raise FileMissing(name) from error
    except OSError as error:  # ELOOP for a link, ENOTDIR for a file in the way, ENXIO for a socket.
        raise FileNotPlain(name) from error
    if reader is not None:
        status = os.fstat(descriptor)
        if not (reader.may(status, MAY_ENTER) if flags & os.O_PATH else reader.may_read(status)):
            os.close(descriptor)
            raise FileMissing(name)
    return descriptor


@contextmanager
def open_folder_beneath(root: Path, *names: str, reader: FileReader | None = None) -> Iterator[int]:
    """A descriptor of `root/names…`. Only `root` itself may be a link (the administrator's choice)."""
    current = open_component(str(root), (PASS_THROUGH if names else FOLDER) & ~os.O_NOFOLLOW, None, reader)
    try:
        for number, name in enumerate(names, 1):
            parent, current = (
                current,
                open_component(name, FOLDER if number == len(names) else PASS_THROUGH, current, reader),
            )
            os.close(parent)
        yield current
    finally:
        os.close(current)


def list_first_names(folder: int, limit: int) -> list[str]:
    """Returns at most `limit` names, in no order. A program may have put any number of files there."""
    with os.scandir(folder) as entries:
        return [entry.name for entry in islice(entries, limit)]


def open_plain_file(folder: int, name: str, reader: FileReader | None = None) -> BinaryIO:
    """A regular file with one name. A second name (hard link) may belong to a file outside."""
    descriptor = open_component(name, FILE, folder, reader)
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode) or status.st_nlink > 1:
        os.close(descriptor)
        raise FileNotPlain(name)
    return os.fdopen(descriptor, "rb", buffering=0)


@contextmanager
def open_file_beneath(root: Path, *names: str, reader: FileReader | None = None) -> Iterator[BinaryIO]:
    """Raises FileMissing or FileNotPlain."""
    with (
        open_folder_beneath(root, *names[:-1], reader=reader) as folder,
        open_plain_file(folder, names[-1], reader) as file,
    ):
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
