"""The files that a program wrote below `out`, or those of a dataset: folders as lists, and whole folders as a zip
archive that is made while it is sent.
"""

import io
import os
import stat
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import BinaryIO

from cluster.domain.errors import Refused
from cluster.files.safe_read import (
    FileMissing,
    FileNotPlain,
    FileReader,
    open_file_beneath,
    open_file_size,
    open_folder_beneath,
)
from cluster.files.untrusted_numbers import written_at

LISTED_ENTRIES = 1_000
ARCHIVED_FILES = 100_000
DEEPEST_FOLDER = 64
CHUNK_BYTES = 256 * 1024


@dataclass(frozen=True)
class WrittenFile:
    """A plain file of `size` bytes, or a folder without a size."""

    name: str
    is_folder: bool
    size: int | None
    written_at: datetime
    is_reachable: bool = True
    """False if the name on the disk is no text: `name` has question marks then, and no address leads there."""


@dataclass(frozen=True)
class FolderListing:
    """A folder's list: folders first, each kind by name. `has_more`: only the first LISTED_ENTRIES are listed."""

    entries: tuple[WrittenFile, ...]
    has_more: bool


def split_path(path: str) -> tuple[str, ...]:
    """The names of a path with slashes; the empty path is the folder `out` itself."""
    return tuple(name for name in path.split("/") if name)


def list_folder(root: Path, *names: str, reader: FileReader | None = None) -> FolderListing:
    """Leaves out links, pipes, files with a second name and files that `reader` may not read. Raises FileMissing or
    FileNotPlain.
    """
    with open_folder_beneath(root, *names, reader=reader) as folder, os.scandir(folder) as entries:
        found = list(read_entries(entries, LISTED_ENTRIES + 1, reader))
    shown = sorted(map(with_text_name, found[:LISTED_ENTRIES]), key=lambda one: (not one.is_folder, one.name))
    return FolderListing(tuple(shown), len(found) > LISTED_ENTRIES)


def with_text_name(entry: WrittenFile) -> WrittenFile:
    """The name as text, because names on a disk are bytes and pages and JSON can show text alone."""
    name = printable_path((entry.name,))
    return entry if name == entry.name else replace(entry, name=name, is_reachable=False)


def read_entries(
    entries: Iterator["os.DirEntry[str]"], limit: int, reader: FileReader | None = None
) -> Iterator[WrittenFile]:
    """Yields at most `limit` plain files and folders. A file that is removed meanwhile is left out."""
    for entry in entries:
        if limit == 0:
            return
        try:
            status = entry.stat(follow_symlinks=False)
        except OSError:
            continue
        if reader is not None and not reader.may_read(status):
            continue
        is_folder = stat.S_ISDIR(status.st_mode)
        if is_folder or (stat.S_ISREG(status.st_mode) and status.st_nlink == 1):
            limit -= 1
            size = None if is_folder else status.st_size
            yield WrittenFile(entry.name, is_folder, size, written_at(status))


def list_files_below(root: Path, *names: str, reader: FileReader | None = None) -> list[tuple[str, ...]]:
    """The paths of all files below a folder, relative to it.

    Raises FileMissing and FileNotPlain, and Refused for more than ARCHIVED_FILES files or DEEPEST_FOLDER levels.
    """
    paths: list[tuple[str, ...]] = []
    folders: list[tuple[str, ...]] = [()]
    while folders:
        parent = folders.pop()
        if len(parent) > DEEPEST_FOLDER:
            raise Refused("path", "job.archive_too_deep", limit=DEEPEST_FOLDER)
        try:
            with (
                open_folder_beneath(root, *names, *parent, reader=reader) as folder,
                os.scandir(folder) as entries,
            ):
                found = list(read_entries(entries, ARCHIVED_FILES + 1 - len(paths), reader))
        except (FileMissing, FileNotPlain):
            if not parent:
                raise
            continue
        folders += [(*parent, entry.name) for entry in found if entry.is_folder]
        paths += [(*parent, entry.name) for entry in found if not entry.is_folder]
        if len(paths) + len(folders) > ARCHIVED_FILES:
            raise Refused("path", "job.archive_too_large", limit=ARCHIVED_FILES)
    return sorted(paths)


def archive_files(
    root: Path, names: tuple[str, ...], paths: list[tuple[str, ...]], reader: FileReader | None = None
) -> Iterator[bytes]:
    """A zip archive without compression, in pieces: each file with the bytes that it has when its turn comes."""
    sent = PieceBuffer()
    with zipfile.ZipFile(sent, "w", zipfile.ZIP_STORED) as archive:
        for path in paths:
            try:
                with open_file_beneath(root, *names, *path, reader=reader) as file:
                    yield from archive_file(archive, sent, printable_path(path), file)
            except (FileMissing, FileNotPlain):
                continue
    yield sent.take()


def archive_file(archive: zipfile.ZipFile, sent: "PieceBuffer", name: str, file: BinaryIO) -> Iterator[bytes]:
    member = zipfile.ZipInfo(name, written_at(os.fstat(file.fileno())).timetuple()[:6])
    member.external_attr = 0o644 << 16
    left = open_file_size(file)
    with archive.open(member, "w", force_zip64=True) as target:
        while left > 0 and (piece := file.read(min(CHUNK_BYTES, left))):
            left -= len(piece)
            target.write(piece)
            yield sent.take()


def printable_path(path: tuple[str, ...]) -> str:
    """Replaces bytes of a name that are no text by question marks, because names in an archive are text."""
    return "/".join(path).encode("utf-8", "replace").decode()


class PieceBuffer(io.RawIOBase):
    """Keeps the bytes that the archive has written until they are taken. It cannot be rewound."""

    def __init__(self) -> None:
        super().__init__()
        self.pieces: list[bytes] = []

    def writable(self) -> bool:
        return True

    def write(self, piece: bytes) -> int:  # type: ignore[override]
        self.pieces.append(bytes(piece))
        return len(self.pieces[-1])

    def take(self) -> bytes:
        taken, self.pieces = b"".join(self.pieces), []
        return taken
