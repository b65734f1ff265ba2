"""Make PyTorch run without NVIDIA's libraries, on machines without GPUs.

The package index has PyTorch for Linux with CUDA alone. It loads 2.5 GB of libraries that a CPU never calls, and
contains a GB of GPU kernels. Both are left out here: the symbols of absent libraries become optional, and the kernels
are cut out of the file. The result computes on CPUs as before and finds no GPU.
"""

import os
import re
import stat
import struct
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field, replace
from itertools import zip_longest
from pathlib import Path

from worker.environments.shared_objects import (
    END,
    ENTRY,
    LOADED,
    NEEDED,
    NOTE_SEGMENT,
    SYMBOL_VERSIONS,
    VERSION_NEED,
    VERSION_NEED_COUNT,
    VERSION_NEED_HEAD,
    VERSION_TABLE,
    SharedObject,
    VersionNeed,
)

PACKAGE = "torch"
NVIDIA_LIBRARY = re.compile(r"lib(cu|nccl|nv)\w*[.]so[.]")
KERNELS = ".nv_fatbin"
"""The section that has the machine code for GPUs."""
PAGE = 4096
WEAK, NO_VERSION = 2, 1
CHUNK = 1 << 24


@dataclass(frozen=True)
class FileChanges:
    """The bytes to write by their offset, and the range of the file (start, end) that is left out afterwards."""

    bytes_at: dict[int, bytes] = field(default_factory=dict)
    cut: tuple[int, int] = (0, 0)


def make_torch_run_on_cpus(packages: Path) -> list[str]:
    """Changes the libraries of PyTorch below `packages` (a site-packages), and returns the names of those changed.

    Those of NVIDIA's libraries that are installed are used. The call can be repeated.
    """
    libraries = sorted((packages / PACKAGE / "lib").glob("*.so*"))
    there = {file.name for file in packages.glob("nvidia/*/lib/*.so*")}
    defined = read_defined_symbols([*libraries, *packages.glob("nvidia/*/lib/*.so.*")])
    changed = []
    for library in libraries:
        with SharedObject(library) as opened:
            changes = plan_changes(opened, there, defined)
        if changes.bytes_at:
            rewrite(library, changes)
            changed.append(library.name)
    return changed


def read_defined_symbols(libraries: Collection[Path]) -> frozenset[str]:
    names: set[str] = set()
    for library in libraries:
        with SharedObject(library) as opened:
            names |= {symbol.name for symbol in opened.symbols() if symbol.is_defined}
    return frozenset(names)


def plan_changes(library: SharedObject, there: Collection[str], defined: Collection[str]) -> FileChanges:
    """Plans how the library loads although NVIDIA's libraries that are not `there` are absent. `defined` are the
    symbols that the other libraries have.
    """
    absent = {name for name in library.needed() if NVIDIA_LIBRARY.match(name) and name not in there}
    changes = cut_out_kernels(library)
    if absent:
        needs = library.version_needs()
        kept = [need for need in needs if need.library not in absent]
        changes.bytes_at.update(forget_libraries(library, absent, needs, kept))
        gone = frozenset[int]().union(*(need.indices for need in needs if need not in kept))
        changes.bytes_at.update(make_symbols_optional(library, gone, defined))
    return changes


def cut_out_kernels(library: SharedObject) -> FileChanges:
    """Plans the removal of the kernels from the file; in memory their pages are zero. For this their segment is divided
    in two. The second part takes the table entry of a note, which the loader does not need.
    """
    kernels = next((each for each in library.sections if each.name == KERNELS), None)
    segments = library.segments()
    note = next((each for each in segments if each.kind == NOTE_SEGMENT), None)
    if kernels is None or note is None:
        return FileChanges()
    end = kernels.offset + kernels.size
    (whole,) = (each for each in segments if each.kind == LOADED and each.holds(kernels.offset))
    page = max(whole.alignment, PAGE)
    start, stop = -(-kernels.offset // page) * page, end // page * page
    if stop <= start:
        return FileChanges()
    first = replace(whole, file_size=start - whole.offset, memory_size=stop - whole.offset)
    rest, moved = whole.offset + whole.file_size - stop, stop - whole.offset
    second = replace(
        whole,
        offset=stop,
        address=whole.address + moved,
        physical=whole.physical + moved,
        file_size=rest,
        memory_size=rest,
    )
    kept = [first if each is whole else each for each in segments if each is not note]
    kept.insert(kept.index(first) + 1, second)
    return FileChanges(dict(library.move_behind(stop, start - stop, kept)), (start, stop))


def forget_libraries(
    library: SharedObject, absent: Collection[str], needs: list[VersionNeed], kept: list[VersionNeed]
) -> Iterator[tuple[int, bytes]]:
    """The dynamic section without the absent libraries, and the list of versions without theirs."""
    entries = []
    for tag, value in library.dynamic_entries():
        if tag == NEEDED and library.name_at(value, library.dynamic) in absent:
            continue
        if tag in (VERSION_TABLE, VERSION_NEED, VERSION_NEED_COUNT) and not kept:
            continue
        if tag == VERSION_NEED:
            value += kept[0].offset - needs[0].offset
        if tag == VERSION_NEED_COUNT:
            value = len(kept)
        entries.append((tag, value))
    entries += [(END, 0)] * (len(library.dynamic_entries()) - len(entries))
    yield library.dynamic.offset, b"".join(ENTRY.pack(*entry) for entry in entries)
    for need, following in zip_longest(kept, kept[1:]):
        head = VERSION_NEED_HEAD.unpack_from(library.data, need.offset)
        step = following.offset - need.offset if following else 0
        yield need.offset, VERSION_NEED_HEAD.pack(*head[:4], step)


def make_symbols_optional(
    library: SharedObject, gone: Collection[int], defined: Collection[str]
) -> Iterator[tuple[int, bytes]]:
    """A symbol of an absent library becomes weak: the loader leaves it empty instead of giving up."""
    versions = library.section(SYMBOL_VERSIONS)
    for number, symbol in enumerate(library.symbols(), start=1):
        is_lost = symbol.version in gone or (symbol.version <= NO_VERSION and symbol.name not in defined)
        if symbol.is_defined or not is_lost:
            continue
        yield symbol.offset + 4, bytes([WEAK << 4 | symbol.info & 0xF])
        if versions and symbol.version in gone:
            yield versions.offset + 2 * number, struct.pack("<H", NO_VERSION)


def rewrite(path: Path, changes: FileChanges) -> None:
    """Writes the file with the changes in the place of the old one, whose other hard links keep their contents.

    It is part of an environment under construction: a build that is interrupted here begins again.
    """
    start, stop = changes.cut
    with path.open("rb") as source:
        size, mode = os.fstat(source.fileno()).st_size, os.fstat(source.fileno()).st_mode
        path.unlink()
        with path.open("wb") as target:
            copy_range(source.fileno(), target.fileno(), 0, start)
            copy_range(source.fileno(), target.fileno(), stop, size, start)
            for offset, content in changes.bytes_at.items():
                os.pwrite(target.fileno(), content, offset if offset < stop else offset - (stop - start))
    path.chmod(stat.S_IMODE(mode))


def copy_range(source: int, target: int, start: int, end: int, place: int = 0) -> None:
    """Copies the bytes from `start` to `end` to the offset `place`."""
    while start < end:
        chunk = os.pread(source, min(CHUNK, end - start), start)
        place += os.pwrite(target, chunk, place)
        start += len(chunk)
