"""Unpacks an uploaded archive into a new folder; the domain checks every entry before it is written."""

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
from typing import IO, Self

from cluster.domain.errors import Refused
from cluster.domain.storage.upload_archives import ArchiveChecker, ArchiveEntry, ArchiveEntryKind
from cluster.files import zip_tables
from worker.adapters.memory_limit import limited_memory

CHUNK_BYTES = 1024 * 1024
MEMORY_BYTES = 768 * 1024 * 1024
BROKEN = (
    *(zipfile.BadZipFile, tarfile.TarError, zlib.error, lzma.LZMAError),
    *(EOFError, NotImplementedError, RecursionError),
)
HEADER_BYTES = 64 * 1024
"""The largest header with a long name or other attributes. tarfile reads such a header as a whole."""
MOST_HEADER_BYTES = 2 * 1024**3
"""The largest sum of all headers: twice a kilobyte for each of a million entries."""
MOST_GLOBAL_HEADERS = 1000
"""tarfile keeps all global headers and copies them into each entry."""
HEADER_KINDS = frozenset(
    (tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK)
    + (tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.SOLARIS_XHDTYPE)
)
GNU_SPARSE_GOES_ON = 482
"""https://www.gnu.org/software/tar/manual/html_node/Standard.html: `isextended` of the old GNU header."""
TAR_KINDS = {
    tarfile.REGTYPE: ArchiveEntryKind.FILE,
    tarfile.AREGTYPE: ArchiveEntryKind.FILE,
    tarfile.GNUTYPE_SPARSE: ArchiveEntryKind.FILE,
    tarfile.CONTTYPE: ArchiveEntryKind.FILE,
    tarfile.DIRTYPE: ArchiveEntryKind.FOLDER,
    tarfile.SYMTYPE: ArchiveEntryKind.LINK,
    tarfile.LNKTYPE: ArchiveEntryKind.HARD_LINK,
}

ReportShare = Callable[[float], None]
"""The callback gets the share of the archive that has been read, 0 to 1."""


@dataclass(frozen=True)
class ArchiveMember:
    """An entry. `read` reads it and is None for a folder."""

    entry: ArchiveEntry
    read: Callable[[], IO[bytes]] | None
    share: float


def unpack_upload_archive(
    archive: Path,
    name: str,
    target: Path,
    verdict: ArchiveChecker,
    told: ReportShare,
    memory: int = MEMORY_BYTES,
) -> int:
    """Unpacks into the empty folder `target` and returns the number of files.

    `name` is the user's name of the archive, whose ending decides the format. Raises Refused; the caller then deletes
    `target`. Files can only be read and written by us, and keep neither owner nor links. The call uses at most
    `memory` additional bytes.
    """
    try:
        with limited_memory(memory), open_archive(archive, name) as contents:
            for content in contents:
                path = check_member(content.entry, verdict)
                if path and not verdict.has_bad_names:
                    write_member(target / path, content, verdict)
                told(content.share)
    except MemoryError as error:
        raise Refused("archive", "archive.too_much_memory", name=name, most=memory) from error
    return verdict.finish()


def check_member(entry: ArchiveEntry, verdict: ArchiveChecker) -> str:
    """The path to write; "" also for a bad name, because all bad names are reported together. Raises Refused."""
    try:
        return verdict.check(entry)
    except Refused as refusal:
        if verdict.note_bad_names(entry, refusal):
            return ""
        raise


def write_member(path: Path, content: ArchiveMember, verdict: ArchiveChecker) -> None:
    """Writes one file. The folders of its path were checked before; O_EXCL refuses to write
    through an existing file.
    """
    if content.read is None:
        path.mkdir(parents=True, exist_ok=True)
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o640)
    with os.fdopen(descriptor, "wb") as target, content.read() as source:
        while piece := read_member_chunk(source):
            verdict.count(content.entry, len(piece))
            target.write(piece)


def read_member_chunk(source: IO[bytes]) -> bytes:
    with refusing_damage():
        return source.read(CHUNK_BYTES)


@contextmanager
def open_archive(archive: Path, name: str) -> Iterator[Iterator[ArchiveMember]]:
    """Opens the archive. Raises Refused, here or while it is read, if its format is not that of its ending."""
    with refusing_damage(name):
        if name.lower().endswith(".zip"):
            check_zip_table(archive)
            with zipfile.ZipFile(archive) as opened:
                yield zip_members(opened)
        else:
            kind = bounded_tar_headers()
            with archive.open("rb") as raw, tarfile.open(fileobj=raw, mode="r:*", tarinfo=kind) as unrolled:
                yield tar_members(unrolled, raw, max(1, archive.stat().st_size))


@contextmanager
def refusing_damage(name: str = "") -> Iterator[None]:
    """Turns errors of the formats into Refused. Errors of the disk have an errno and stay as they are."""
    try:
        yield
    except BROKEN as error:
        raise Refused("archive", "archive.unreadable", name=name) from error
    except (OSError, ValueError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        raise Refused("archive", "archive.unreadable", name=name) from error


def check_zip_table(archive: Path) -> None:
    """Raises Refused, zipfile.BadZipFile, OSError."""
    try:
        zip_tables.check_zip_table(archive)
    except zip_tables.TooManyEntries as error:
        most = zip_tables.ZIP_ENTRIES
        raise Refused("archive", "archive.zip_too_many", count=error.count, most=most) from error


def bounded_tar_headers() -> type[tarfile.TarInfo]:
    """A class of entries that refuses headers which tarfile would otherwise read into memory as a whole."""
    read = 0

    class BoundedTarInfo(tarfile.TarInfo):
        @classmethod
        def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> Self:
            nonlocal read
            found = super().frombuf(buf, encoding, errors)
            if found.size < 0:
                raise tarfile.HeaderError("a size below zero")
            if found.type in HEADER_KINDS:
                read += found.size
                if found.size > HEADER_BYTES or read > MOST_HEADER_BYTES:
                    raise Refused(
                        "archive",
                        "archive.header_too_large",
                        entry=display_name(found.name),
                        most=HEADER_BYTES,
                    )
            if found.type == tarfile.GNUTYPE_SPARSE and buf[GNU_SPARSE_GOES_ON]:
                raise Refused("archive", "archive.sparse", entry=display_name(found.name))
            return found

        def _proc_gnusparse_10(self, following: tarfile.TarInfo, *_: object) -> None:
            """Without this check tarfile would collect as many numbers as the archive claims."""
            raise Refused("archive", "archive.sparse", entry=display_name(following.name))

    return BoundedTarInfo


def display_name(name: str) -> str:
    return name.encode("utf-8", "backslashreplace").decode()[:200]


def zip_members(opened: zipfile.ZipFile) -> Iterator[ArchiveMember]:
    entries = opened.infolist()
    whole, done = max(1, sum(info.compress_size for info in entries)), 0
    for info in entries:
        mode = info.external_attr >> 16
        kind = ArchiveEntryKind.FOLDER if info.is_dir() else kind_of_mode(mode)
        entry = ArchiveEntry(
            info.orig_filename, kind, info.file_size, mode & 0o7777, bool(info.flag_bits & 1)
        )
        done += info.compress_size
        read = None if kind is ArchiveEntryKind.FOLDER else (lambda info=info: open_zip_member(opened, info))
        yield ArchiveMember(entry, read, done / whole)


def open_zip_member(opened: zipfile.ZipFile, info: zipfile.ZipInfo) -> IO[bytes]:
    with refusing_damage():
        return opened.open(info)


def kind_of_mode(mode: int) -> ArchiveEntryKind:
    """The file type in the Unix half of a zip entry's attributes, which is 0 if another system made the archive."""
    kind = stat.S_IFMT(mode)
    if kind in (0, stat.S_IFREG):
        return ArchiveEntryKind.FILE
    if kind == stat.S_IFDIR:
        return ArchiveEntryKind.FOLDER
    return ArchiveEntryKind.LINK if kind == stat.S_IFLNK else ArchiveEntryKind.DEVICE


def tar_members(unrolled: tarfile.TarFile, raw: IO[bytes], size: int) -> Iterator[ArchiveMember]:
    """The entries in the order of the file. The share is how much of the packed file has been read."""
    while True:
        with refusing_damage():
            member = unrolled.next()
        if member is None:
            return
        if len(unrolled.pax_headers) > MOST_GLOBAL_HEADERS:
            raise Refused(
                "archive", "archive.header_too_large", entry=display_name(member.name), most=HEADER_BYTES
            )
        kind = TAR_KINDS.get(member.type, ArchiveEntryKind.DEVICE)
        entry = ArchiveEntry(member.name, kind, member.size, member.mode & 0o7777)
        read = (
            (lambda member=member: open_tar_member(unrolled, member))
            if kind is ArchiveEntryKind.FILE
            else None
        )
        yield ArchiveMember(entry, read, min(1.0, raw.tell() / size))
        unrolled.members = []  # type: ignore[attr-defined]  # Or it would remember each of a million.


def open_tar_member(unrolled: tarfile.TarFile, member: tarfile.TarInfo) -> IO[bytes]:
    opened = unrolled.extractfile(member)
    if opened is None:
        raise Refused("archive", "archive.unreadable", name=member.name)
    return opened
