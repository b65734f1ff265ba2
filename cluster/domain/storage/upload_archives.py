"""Check an uploaded archive: every entry is checked before a byte of it is written, and one bad entry refuses all of
it.
"""

import unicodedata
from dataclasses import dataclass, field
from enum import StrEnum

from cluster.domain.errors import Refused
from cluster.domain.names import check_file_name, check_file_path, suggest_file_name

SETUID_SETGID = 0o6000
GIB = 1024**3
REPLACEABLE = frozenset(
    {"file.space", "file.bad_character", "file.unseen_character", "file.hangul", "file.not_ascii"}
)
BAD_NAMES = "archive.bad_names"
MOST_BAD_NAMES, SHOWN_BAD_NAMES = 200, 10
"""The number of names that are kept for the page, and the number that stand in the sentence."""


class ArchiveEntryKind(StrEnum):
    FILE = "file"
    FOLDER = "folder"
    LINK = "link"
    HARD_LINK = "hard_link"
    DEVICE = "device"
    """Devices, pipes, sockets, and kinds that the reader does not know."""


@dataclass(frozen=True)
class ArchiveEntry:
    """One line of the archive's table. Its values are untrusted."""

    name: str
    kind: ArchiveEntryKind = ArchiveEntryKind.FILE
    size: int = 0
    mode: int = 0
    is_encrypted: bool = False


@dataclass(frozen=True)
class ArchiveLimits:
    """`ratio` is unpacked bytes per packed byte. It is checked from `ratio_from` bytes on."""

    total_bytes: int = 200 * GIB
    files: int = 1_000_000
    ratio: int = 200
    ratio_from: int = GIB
    depth: int = 32


@dataclass
class ArchiveChecker:
    """Takes entries and bytes one after another, and raises Refused at the first that is not allowed.

    `packed_bytes` is the size of the archive's own file. Two hashes are kept of each path, about 110 bytes, so that a
    million entries fit into a small task worker.
    """

    packed_bytes: int
    limits: ArchiveLimits = field(default_factory=ArchiveLimits)
    unicode_names: bool = False
    latin_names: bool = False
    """Whether names that the rule refuses are replaced by those that it suggests."""
    files: int = 0
    unpacked_bytes: int = 0
    _said: int = 0
    _entries: int = 0
    _known: dict[int, int] = field(default_factory=dict)
    """Maps the hash of the lower-case path to the hash of the path as written, doubled, odd for a folder."""
    _bad_names: dict[str, Refused] = field(default_factory=dict)
    """Name → its refusal. The name may be that of a folder with many files."""

    def check(self, entry: ArchiveEntry) -> str:
        """The normalised path of the entry below the dataset's folder. It is "" for the folder itself."""
        self._entries += 1
        if self._entries > self.limits.files:
            raise _refused("archive.too_many_files", entry, most=self.limits.files)
        check_entry_kind(entry)
        written = path = normalised_path(entry, self.limits.depth)
        if not path:
            return ""
        if self.latin_names:
            path = "/".join(suggest_file_name(part, self.unicode_names) for part in path.split("/"))
        check_file_path(path, self.unicode_names, "archive")
        self._check_place(entry, path, written)
        if entry.kind is ArchiveEntryKind.FILE:
            self.files += 1
            self._said += max(0, entry.size)
            self._check_amount(self._said, entry)
        return path

    def count(self, entry: ArchiveEntry, size: int) -> None:
        """Counts each unpacked piece of `size` bytes, because the archive's own sizes may be wrong."""
        self.unpacked_bytes += size
        self._check_amount(self.unpacked_bytes, entry)
        if self.unpacked_bytes > self._said:
            raise _refused("archive.size_lies", entry)

    def note_bad_names(self, entry: ArchiveEntry, refusal: Refused) -> bool:
        """Notes a refusal that is about names only; `finish` tells all of them at once. Returns whether it is one."""
        if not is_name_refusal(refusal.code):
            return False
        for part in normalised_path(entry, self.limits.depth).split("/"):
            if part not in self._bad_names and len(self._bad_names) < MOST_BAD_NAMES:
                try:
                    check_file_name(part, self.unicode_names, "archive")
                except Refused as bad:
                    self._bad_names[part] = bad
        return True

    @property
    def has_bad_names(self) -> bool:
        """Whether the archive is refused already, so that nothing more of it is written."""
        return bool(self._bad_names)

    def finish(self) -> int:
        """The number of files. Raises Refused for bad names, and if there is no file."""
        if len(self._bad_names) == 1:
            raise next(iter(self._bad_names.values()))
        if self._bad_names:
            suggested = [
                [refusal.data["file"], suggest_file_name(name, self.unicode_names)]
                for name, refusal in self._bad_names.items()
            ]
            first = [name for name, _ in suggested[:SHOWN_BAD_NAMES]]
            raise Refused("archive", BAD_NAMES, count=len(suggested), names=first, suggested=suggested)
        if not self.files:
            raise Refused("archive", "archive.empty")
        return self.files

    def _check_place(self, entry: ArchiveEntry, path: str, written: str) -> None:
        """Refuses a repeated path, paths that differ in case only or in the archive alone, and a file in place of a
        folder. `written` is the path in the archive, with as many parts."""
        parts, written_parts = path.split("/"), written.split("/")
        for depth in range(1, len(parts)):
            self._take(entry, "/".join(parts[:depth]), "/".join(written_parts[:depth]), is_folder=True)
        self._take(entry, path, written, entry.kind is ArchiveEntryKind.FOLDER)

    def _take(self, entry: ArchiveEntry, path: str, written: str, is_folder: bool) -> None:
        """Adds the path. A folder may be repeated, other entries may not."""
        key, mark = hash(path.casefold()), hash(written) << 1 | is_folder
        known = self._known.get(key)
        if known is None:
            self._known[key] = mark
            return
        if known >> 1 != mark >> 1:
            raise _refused("archive.latin_twin" if self.latin_names else "archive.case_twin", entry)
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
    """Accepts files and folders without special rights and encryption. Raises Refused."""
    if entry.kind in (ArchiveEntryKind.LINK, ArchiveEntryKind.HARD_LINK):
        raise _refused("archive.link", entry)
    if entry.kind is ArchiveEntryKind.DEVICE:
        raise _refused("archive.device", entry)
    if entry.mode & SETUID_SETGID and entry.kind is ArchiveEntryKind.FILE:
        raise _refused("archive.setuid", entry)
    if entry.is_encrypted:
        raise _refused("archive.encrypted", entry)


def normalised_path(entry: ArchiveEntry, depth: int) -> str:
    """The path below the dataset's folder, "" for the folder itself. Raises Refused if it leads out of it."""
    name = unicodedata.normalize("NFC", entry.name)
    if "\\" in name:
        raise _refused("archive.backslash", entry)
    if name.startswith("/") or (name[1:2] == ":" and name[:1].isalpha()):
        raise _refused("archive.absolute", entry)
    parts = [part for part in name.split("/") if part not in ("", ".")]
    if ".." in parts:
        raise _refused("archive.outside", entry)
    if len(parts) > depth:
        raise _refused("archive.too_deep", entry, most=depth)
    return "/".join(parts)


def is_name_refusal(code: str) -> bool:
    """Whether a name of the archive is refused that can be replaced."""
    return code in REPLACEABLE or code == BAD_NAMES


def _refused(code: str, entry: ArchiveEntry, **data: object) -> Refused:
    shown = entry.name.encode("utf-8", "backslashreplace").decode()
    return Refused("archive", code, entry=shown if len(shown) <= 200 else shown[:199] + "…", **data)
