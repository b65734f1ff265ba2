"""Unpacks an uploaded archive into a new folder: every entry is judged by the domain before it is written."""

import lzma
import os
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from cluster.domain.archives import Entry, EntryKind, Verdict
from cluster.domain.errors import Refused

PIECE = 1024 * 1024
BROKEN = (zipfile.BadZipFile, tarfile.TarError, zlib.error, lzma.LZMAError, EOFError, NotImplementedError)
TAR_KINDS = {
    tarfile.REGTYPE: EntryKind.FILE,
    tarfile.AREGTYPE: EntryKind.FILE,
    tarfile.GNUTYPE_SPARSE: EntryKind.FILE,
    tarfile.CONTTYPE: EntryKind.FILE,
    tarfile.DIRTYPE: EntryKind.FOLDER,
    tarfile.SYMTYPE: EntryKind.LINK,
    tarfile.LNKTYPE: EntryKind.HARD_LINK,
}

Told = Callable[[float], None]
"""Called with the share of the archive that has been read, 0 to 1."""


@dataclass(frozen=True)
class Content:
    """An entry and how to read it; `read` is None for a folder."""

    entry: Entry
    read: Callable[[], IO[bytes]] | None
    share: float


def unpack(archive: Path, name: str, target: Path, verdict: Verdict, told: Told) -> int:
    """Into the empty folder `target`; the number of files.

    `name` is what the user called it: its ending says the kind. Raises Refused; then `target` holds a part
    that the caller throws away. Files get no rights but reading and writing by us, no owner, no links.
    """
    with open_archive(archive, name) as contents:
        for content in contents:
            path = verdict.check(content.entry)
            if path:
                write(target / path, content, verdict)
            told(content.share)
    return verdict.finish()


def write(path: Path, content: Content, verdict: Verdict) -> None:
    """Folders of the path were checked with it; O_EXCL: nothing that stands there is written through."""
    if content.read is None:
        path.mkdir(parents=True, exist_ok=True)
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o640)
    with os.fdopen(descriptor, "wb") as target, content.read() as source:
        while piece := read_piece(source):
            verdict.count(content.entry, len(piece))
            target.write(piece)


def read_piece(source: IO[bytes]) -> bytes:
    with damage_is_refused():
        return source.read(PIECE)


@contextmanager
def open_archive(archive: Path, name: str) -> Iterator[Iterator[Content]]:
    """Raises Refused where it is not what its ending says, here or while it is read."""
    with damage_is_refused(name):
        if name.lower().endswith(".zip"):
            with zipfile.ZipFile(archive) as opened:
                yield contents_of_zip(opened)
        else:
            with archive.open("rb") as raw, tarfile.open(fileobj=raw, mode="r:*") as unrolled:
                yield contents_of_tar(unrolled, raw, max(1, archive.stat().st_size))


@contextmanager
def damage_is_refused(name: str = "") -> Iterator[None]:
    """Errors of the formats, told apart from errors of the disk: those have a number."""
    try:
        yield
    except BROKEN as error:
        raise Refused("archive", "archive.unreadable", name=name) from error
    except (OSError, ValueError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        raise Refused("archive", "archive.unreadable", name=name) from error


def contents_of_zip(opened: zipfile.ZipFile) -> Iterator[Content]:
    entries = opened.infolist()
    whole, done = max(1, sum(info.compress_size for info in entries)), 0
    for info in entries:
        mode = info.external_attr >> 16
        kind = EntryKind.FOLDER if info.is_dir() else kind_of_mode(mode)
        entry = Entry(info.orig_filename, kind, info.file_size, mode & 0o7777, bool(info.flag_bits & 1))
        done += info.compress_size
        read = None if kind is EntryKind.FOLDER else (lambda info=info: open_entry(opened, info))
        yield Content(entry, read, done / whole)


def open_entry(opened: zipfile.ZipFile, info: zipfile.ZipInfo) -> IO[bytes]:
    with damage_is_refused():
        return opened.open(info)


def kind_of_mode(mode: int) -> EntryKind:
    """By the file type in the Unix half of a zip entry's attributes; archivers elsewhere leave it 0."""
    kind = stat.S_IFMT(mode)
    if kind in (0, stat.S_IFREG):
        return EntryKind.FILE
    if kind == stat.S_IFDIR:
        return EntryKind.FOLDER
    return EntryKind.LINK if kind == stat.S_IFLNK else EntryKind.DEVICE


def contents_of_tar(unrolled: tarfile.TarFile, raw: IO[bytes], size: int) -> Iterator[Content]:
    """One after another as they stand in the file; the share is how far the packed file has been read."""
    while True:
        with damage_is_refused():
            member = unrolled.next()
        if member is None:
            return
        kind = TAR_KINDS.get(member.type, EntryKind.DEVICE)
        entry = Entry(member.name, kind, member.size, member.mode & 0o7777)
        read = (lambda member=member: open_member(unrolled, member)) if kind is EntryKind.FILE else None
        yield Content(entry, read, min(1.0, raw.tell() / size))
        unrolled.members = []  # type: ignore[attr-defined]  # Or it would remember each of a million.


def open_member(unrolled: tarfile.TarFile, member: tarfile.TarInfo) -> IO[bytes]:
    opened = unrolled.extractfile(member)
    if opened is None:
        raise Refused("archive", "archive.unreadable", name=member.name)
    return opened
