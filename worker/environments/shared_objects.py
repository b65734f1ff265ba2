"""Read shared libraries (ELF, 64 bits, little endian): what they need, which symbols they lack, and where their
sections are.

The names are those of https://refspecs.linuxfoundation.org/elf/gabi4+/contents.html, the versions of symbols those of
https://refspecs.linuxfoundation.org/LSB_5.0.0/LSB-Core-generic/LSB-Core-generic/symversion.html.
"""

import struct
from collections.abc import Iterator, Sequence
from dataclasses import astuple, dataclass, replace
from mmap import ACCESS_READ, mmap
from pathlib import Path

MAGIC = b"\x7fELF\x02\x01"
DYNAMIC, DYNAMIC_SYMBOLS, VERSION_NEEDS, SYMBOL_VERSIONS = 6, 11, 0x6FFFFFFE, 0x6FFFFFFF
END, NEEDED = 0, 1
VERSION_TABLE, VERSION_NEED, VERSION_NEED_COUNT = 0x6FFFFFF0, 0x6FFFFFFE, 0x6FFFFFFF
LOADED, NOTE_SEGMENT = 1, 4
SYMBOL_BYTES = 24
SECTION_TABLE_AT, SECTION_OFFSET_AT = 40, 24
SEGMENT = struct.Struct("<IIQQQQQQ")
ENTRY = struct.Struct("<qQ")
VERSION_NEED_HEAD = struct.Struct("<HHIII")
VERSION_AUXILIARY = struct.Struct("<IHHII")


@dataclass(frozen=True)
class Section:
    name: str
    kind: int
    offset: int
    """Bytes from the beginning of the file."""
    size: int
    link: int
    """The number of the section that has this one's names."""


@dataclass(frozen=True)
class Segment:
    """An entry of the program header table: what the loader does with a range of the file."""

    kind: int
    flags: int
    offset: int
    address: int
    physical: int
    file_size: int
    memory_size: int
    alignment: int

    def holds(self, offset: int) -> bool:
        return self.offset <= offset < self.offset + self.file_size


@dataclass(frozen=True)
class VersionNeed:
    """The versions of symbols that are required from one library."""

    offset: int
    library: str
    indices: frozenset[int]


@dataclass(frozen=True)
class Symbol:
    """An entry of the dynamic symbols, `offset` bytes from the beginning of the file."""

    offset: int
    name: str
    info: int
    version: int
    """The index of its version. 0 and 1 mean that it has none."""
    is_defined: bool


class SharedObject:
    """An open shared library. Raises ValueError if the file is no ELF file of this kind."""

    def __init__(self, path: Path) -> None:
        self.path = path
        with path.open("rb") as file:
            if file.read(len(MAGIC)) != MAGIC:
                raise ValueError(f"{path} is no shared library of 64 bits")
            self.data = mmap(file.fileno(), 0, access=ACCESS_READ)
        self.sections = tuple(self._read_sections())

    def __enter__(self) -> "SharedObject":
        return self

    def __exit__(self, *_: object) -> None:
        self.data.close()

    def section(self, kind: int) -> Section | None:
        return next((section for section in self.sections if section.kind == kind), None)

    def segments(self) -> list[Segment]:
        table, (count,) = self._segment_table(), struct.unpack_from("<H", self.data, 56)
        part = self.data[table : table + count * SEGMENT.size]
        return [Segment(*entry) for entry in SEGMENT.iter_unpack(part)]

    def move_behind(
        self, position: int, distance: int, segments: Sequence[Segment]
    ) -> Iterator[tuple[int, bytes]]:
        """Returns offset → bytes of each table, for a file whose part from `position` on is moved by `distance` bytes.
        `segments` have the old offsets.
        """

        def moved(offset: int) -> int:
            return offset + distance if offset >= position else offset

        rows = [
            SEGMENT.pack(*astuple(replace(segment, offset=moved(segment.offset)))) for segment in segments
        ]
        yield self._segment_table(), b"".join(rows)
        table, size = self._section_table()
        yield SECTION_TABLE_AT, struct.pack("<Q", moved(table))
        for number, section in enumerate(self.sections):
            yield table + number * size + SECTION_OFFSET_AT, struct.pack("<Q", moved(section.offset))

    def needed(self) -> tuple[str, ...]:
        """The libraries that the loader loads with this one."""
        return tuple(
            self.name_at(value, self.dynamic) for tag, value in self.dynamic_entries() if tag == NEEDED
        )

    @property
    def dynamic(self) -> Section:
        section = self.section(DYNAMIC)
        if section is None:
            raise ValueError(f"{self.path} is not loaded dynamically")
        return section

    def dynamic_entries(self) -> list[tuple[int, int]]:
        """The pairs of tag and value, including those after the first end mark."""
        part = self.data[self.dynamic.offset : self.dynamic.offset + self.dynamic.size]
        return list(ENTRY.iter_unpack(part))

    def version_needs(self) -> list[VersionNeed]:
        section = self.section(VERSION_NEEDS)
        needs: list[VersionNeed] = []
        offset = section.offset if section else 0
        while section:
            _, count, file, first, following = VERSION_NEED_HEAD.unpack_from(self.data, offset)
            indices, at = set(), offset + first
            for _ in range(count):
                _, _, index, _, further = VERSION_AUXILIARY.unpack_from(self.data, at)
                indices.add(index)
                at += further
            needs.append(VersionNeed(offset, self.name_at(file, section), frozenset(indices)))
            if not following:
                break
            offset += following
        return needs

    def symbols(self) -> Iterator[Symbol]:
        table, versions = self.section(DYNAMIC_SYMBOLS), self.section(SYMBOL_VERSIONS)
        if table is None:
            return
        for number in range(1, table.size // SYMBOL_BYTES):
            offset = table.offset + number * SYMBOL_BYTES
            name, info, _, section = struct.unpack_from("<IBBH", self.data, offset)
            version = struct.unpack_from("<H", self.data, versions.offset + 2 * number)[0] if versions else 1
            yield Symbol(offset, self.name_at(name, table), info, version & 0x7FFF, section != 0)

    def name_at(self, position: int, user: Section) -> str:
        start = self.sections[user.link].offset + position
        return self.data[start : self.data.find(b"\0", start)].decode()

    def _segment_table(self) -> int:
        (table,) = struct.unpack_from("<Q", self.data, 32)
        return int(table)

    def _section_table(self) -> tuple[int, int]:
        """Returns the offset of the section table and the bytes of one entry."""
        (table,) = struct.unpack_from("<Q", self.data, SECTION_TABLE_AT)
        (size,) = struct.unpack_from("<H", self.data, 58)
        return table, size

    def _read_sections(self) -> Iterator[Section]:
        table, size = self._section_table()
        count, names = struct.unpack_from("<HH", self.data, 60)
        heads = [struct.unpack_from("<IIQQQQII", self.data, table + each * size) for each in range(count)]
        strings = heads[names][4]
        for name, kind, _, _, offset, length, link, _ in heads:
            start = strings + name
            text = self.data[start : self.data.find(b"\0", start)].decode()
            yield Section(text, kind, offset, length, link)
