"""Check an uploaded archive: every entry is checked before a byte of it is written, and one bad entry refuses it all.

One bad entry refuses the whole archive.
"""

from dataclasses import dataclass, field
from enum import StrEnum

from cluster.domain.errors import Refused
from cluster.domain.names import check_file_path

SETUID_SETGID = 0o6000
GIB = 1024**3


class ArchiveEntryKind(StrEnum):
    FILE = "file"
    FOLDER = "folder"
    LINK = "link"
    HARD_LINK = "hard_link"
    DEVICE = "device"
    """Also pipes, sockets and kinds that the reader does not know."""


@dataclass(frozen=True)
class ArchiveEntry:
    """One line of the archive's table, as the archive says it: nothing of it is to be trusted."""

    name: str
    kind: ArchiveEntryKind = ArchiveEntryKind.FILE
    size: int = 0
    mode: int = 0
    is_encrypted: bool = False


@dataclass(frozen=True)
class ArchiveLimits:
    """`ratio` is unpacked bytes per packed byte; it counts from `ratio_from` bytes on."""

    total_bytes: int = 200 * GIB
    files: int = 1_000_000
    ratio: int = 200
    ratio_from: int = GIB
    depth: int = 32


@dataclass
class ArchiveChecker:
    """Takes entries and bytes one after another and raises Refused at the first that is not allowed.

    `packed_bytes` is the size of the archive's own file. Of each path two hashes are kept, about 110 bytes,
    so that a million entries fit into a small task worker.
    """

    packed_bytes: int
    limits: ArchiveLimits = field(default_factory=ArchiveLimits)
    unicode_names: bool = False
    files: int = 0
    unpacked_bytes: int = 0
    _said: int = 0
    _entries: int = 0
    _known: dict[int, int] = field(default_factory=dict)
    """Hash of the path in small letters: hash of the path as written, doubled, odd for a folder."""

    def check(self, entry: ArchiveEntry) -> str:
        """The entry's path beneath the dataset's folder, made plain; "" for the folder itself."""
        self._entries += 1
        if self._entries > self.limits.files:
            raise _refused("archive.too_many_files", entry, most=self.limits.files)
        check_entry_kind(entry)
        path = check_entry_path(entry, self.limits.depth, self.unicode_names)
        if not path:
            return ""
        self._check_place(entry, path)
        if entry.kind is ArchiveEntryKind.FILE:
            self.files += 1
            self._said += max(0, entry.size)
            self._check_amount(self._said, entry)
        return path

    def count(self, entry: ArchiveEntry, size: int) -> None:
        """Call it for each piece that was unpacked, `size` bytes: the archive's own sizes may lie."""
        self.unpacked_bytes += size
        self._check_amount(self.unpacked_bytes, entry)
        if self.unpacked_bytes > self._said:
            raise _refused("archive.size_lies", entry)

    def finish(self) -> int:
        """The number of files. Raises Refused where there is none."""
        if not self.files:
            raise Refused("archive", "archive.empty")
        return self.files

    def _check_place(self, entry: ArchiveEntry, path: str) -> None:
        """No path twice, none that only letters' case tells apart, no file where a folder is."""
        parts = path.split("/")
        for depth in range(1, len(parts)):
            self._take(entry, "/".join(parts[:depth]), is_folder=True)
        self._take(entry, path, entry.kind is ArchiveEntryKind.FOLDER)

    def _take(self, entry: ArchiveEntry, path: str, is_folder: bool) -> None:
        """A folder may be named again; everything else may not."""
        key, mark = hash(path.casefold()), hash(path) << 1 | is_folder
        known = self._known.get(key)
        if known is None:
            self._known[key] = mark
            return
        if known >> 1 != mark >> 1:
            raise _refused("archive.case_twin", entry)
        if known != mark:
            raise _refused("archive.file_and_folder", entry)
        if not is_folder:
            raise _refused("archive.twice", entry)

    def _check_amount(self, size: int, entry: ArchiveEntry) -> None:
        if size > self.limits.total_bytes:
            raise _refused("archive.too_large", entry, most=self.limits.total_bytes)
        if size > self.limits.ratio_from and size > self.limits.ratio * max(1, self.packed_bytes):
            raise _refused("archive.too_dense", entry, ratio=self.limits.ratio)


def check_entry_kind(entry: ArchiveEntry) -> None:
    """Files and folders only, without special rights and not encrypted; raises Refused."""
    if entry.kind in (ArchiveEntryKind.LINK, ArchiveEntryKind.HARD_LINK):
        raise _refused("archive.link", entry)
    if entry.kind is ArchiveEntryKind.DEVICE:
        raise _refused("archive.device", entry)
    if entry.mode & SETUID_SETGID and entry.kind is ArchiveEntryKind.FILE:
        raise _refused("archive.setuid", entry)
    if entry.is_encrypted:
        raise _refused("archive.encrypted", entry)


def check_entry_path(entry: ArchiveEntry, depth: int = 32, unicode_names: bool = False) -> str:
    """The path made plain; raises Refused for one that leads out, or breaks the rule for file names (D2)."""
    name = entry.name
    if "\\" in name:
        raise _refused("archive.backslash", entry)
    if name.startswith("/") or (name[1:2] == ":" and name[:1].isalpha()):
        raise _refused("archive.absolute", entry)
    parts = [part for part in name.split("/") if part not in ("", ".")]
    if ".." in parts:
        raise _refused("archive.outside", entry)
    if len(parts) > depth:
        raise _refused("archive.too_deep", entry, most=depth)
    return check_file_path("/".join(parts), unicode_names, "archive") if parts else ""


def _refused(code: str, entry: ArchiveEntry, **data: object) -> Refused:
    shown = entry.name.encode("utf-8", "backslashreplace").decode()
    return Refused("archive", code, entry=shown if len(shown) <= 200 else shown[:199] + "…", **data)
