"""An archive that is made to fill memory is refused by its name, and takes little of it."""

import bz2
import gzip
import json
import lzma
import struct
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import pytest

ROOT = Path(__file__).parents[5]
MIB = 1024 * 1024
MOST_BYTES = 48 * MIB
"""By which an unpacking process may grow; what the archives ask for begins at 64 MiB."""
UNPACK = """
import json, sys
from pathlib import Path
from cluster.domain.storage.upload_archives import ArchiveChecker
from cluster.domain.errors import Refused
from worker.adapters.datasets.upload_archives import unpack_upload_archive
archive, target, *memory = sys.argv[1:]
options = {"memory": int(memory[0])} if memory else {}

def most_memory():
    # Of this program alone: ru_maxrss begins with what its parent had before exec.
    (line,) = [each for each in open("/proc/self/status") if each.startswith("VmHWM:")]
    return 1024 * int(line.split()[1])

before = most_memory()
try:
    size = Path(archive).stat().st_size
    path, checker = Path(archive), ArchiveChecker(size)
    code = unpack_upload_archive(path, path.name, Path(target), checker, lambda share: None, **options)
except Refused as refused:
    code = refused.code
print(json.dumps([code, most_memory() - before]))
"""


def unpacked(archive: Path, folder: Path, *memory: int) -> tuple[str | int, int]:
    """The refusal's code or the number of files, and the bytes by which the process grew."""
    folder.mkdir()
    command = [sys.executable, "-c", UNPACK, str(archive), str(folder), *map(str, memory)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True, timeout=300)
    code, grown = json.loads(done.stdout)
    return code, grown


def header(name: str, kind: bytes, size: int) -> bytes:
    info = tarfile.TarInfo(name)
    info.type, info.size = kind, size
    return info.tobuf(tarfile.GNU_FORMAT)


def zeros(size: int) -> Iterator[bytes]:
    for _ in range(size // MIB):
        yield bytes(MIB)


def written(path: Path, *parts: bytes | Iterator[bytes]) -> Path:
    """Packed by the ending of its name."""
    with opened(path) as file:
        for part in parts:
            for piece in [part] if isinstance(part, bytes) else part:
                file.write(piece)
    return path


def opened(path: Path) -> IO[bytes]:
    match path.suffix:
        case ".gz":
            return gzip.open(path, "wb", 1)
        case ".bz2":
            return bz2.open(path, "wb", 1)
        case ".xz":
            return lzma.open(path, "wb", preset=0)
    return path.open("wb")


HEADERS = {
    "long name": tarfile.GNUTYPE_LONGNAME,
    "long link": tarfile.GNUTYPE_LONGLINK,
    "pax": tarfile.XHDTYPE,
    "pax of all": tarfile.XGLTYPE,
    "solaris": tarfile.SOLARIS_XHDTYPE,
}


@pytest.mark.parametrize("kind", HEADERS)
def test_a_header_is_not_read_when_it_is_too_large(tmp_path: Path, kind: str) -> None:
    archive = written(tmp_path / "a.tar.gz", header("long", HEADERS[kind], 256 * MIB), zeros(256 * MIB))
    code, grown = unpacked(archive, tmp_path / "out")
    assert (code, grown < MOST_BYTES) == ("archive.header_too_large", True), f"{grown / MIB:.0f} MiB"


@pytest.mark.parametrize("ending", ["tar", "tar.bz2", "tar.xz"])
def test_nor_is_it_however_it_is_packed(tmp_path: Path, ending: str) -> None:
    archive = written(tmp_path / f"a.{ending}", header("long", b"L", 128 * MIB), zeros(128 * MIB))
    code, grown = unpacked(archive, tmp_path / "out")
    assert (code, grown < MOST_BYTES) == ("archive.header_too_large", True), f"{grown / MIB:.0f} MiB"


def test_a_header_of_less_than_no_size_is_damage(tmp_path: Path) -> None:
    """A reader that takes it at its word reads all the rest of the archive at once."""
    raw = bytearray(header("long", b"L", 0))
    raw[124:136] = b"\xff" * 10 + b"\xfe\x00"  # -512 in base 256
    raw[148:156] = b"%06o\0 " % tarfile.calc_chksums(bytes(raw))[0]  # type: ignore[attr-defined]
    archive = written(tmp_path / "a.tar.gz", bytes(raw), zeros(256 * MIB))
    code, grown = unpacked(archive, tmp_path / "out")
    assert (code, grown < MOST_BYTES) == ("archive.unreadable", True), f"{grown / MIB:.0f} MiB"


def test_a_list_of_holes_without_end_is_not_read(tmp_path: Path) -> None:
    raw = bytearray(header("holes", tarfile.GNUTYPE_SPARSE, 0))
    raw[482] = 1
    raw[148:156] = b"%06o\0 " % tarfile.calc_chksums(bytes(raw))[0]  # type: ignore[attr-defined]
    record = (b"%011o\0" % 1) * 42 + b"\1" + bytes(7)
    archive = written(tmp_path / "a.tar.gz", bytes(raw), (record * 2048 for _ in range(32)))
    code, grown = unpacked(archive, tmp_path / "out")
    assert (code, grown < MOST_BYTES) == ("archive.sparse", True), f"{grown / MIB:.0f} MiB"


def test_nor_is_one_in_the_newer_form(tmp_path: Path) -> None:
    facts = {"GNU.sparse.major": "1", "GNU.sparse.minor": "0"}
    info = tarfile.TarInfo("holes")
    info.pax_headers, info.size = facts, 128 * MIB
    begin = info.tobuf(tarfile.PAX_FORMAT)
    archive = written(tmp_path / "a.tar.gz", begin, b"99999999\n", (b"1\n" * (MIB // 2) for _ in range(32)))
    code, grown = unpacked(archive, tmp_path / "out")
    assert (code, grown < MOST_BYTES) == ("archive.sparse", True), f"{grown / MIB:.0f} MiB"


def test_headers_about_headers_without_end_are_damage(tmp_path: Path) -> None:
    long = header("long", b"L", 512) + bytes(512)
    assert (
        unpacked(written(tmp_path / "a.tar.gz", long * 20_000), tmp_path / "out")[0] == "archive.unreadable"
    )


def a_table(path: Path, count: int, said: int, name: bytes = b"a") -> Path:
    """A zip whose table lists `count` entries of nothing, and which says that it has `said`."""
    record = struct.pack("<4s6H3L5H2L", b"PK\1\2", 20, 20, *[0] * 7, len(name), *[0] * 6) + name
    end = struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, said, said, count * len(record), 0, 0)
    path.write_bytes(record * count + end)
    return path


@pytest.mark.parametrize("said", [1, 0xFFFF])
def test_a_zip_of_too_many_entries_is_counted_and_not_read(tmp_path: Path, said: int) -> None:
    code, grown = unpacked(a_table(tmp_path / "a.zip", 400_000, said), tmp_path / "out")
    assert (code, grown < MOST_BYTES) == ("archive.zip_too_many", True), f"{grown / MIB:.0f} MiB"


def test_a_zip_of_names_as_long_as_they_can_be_is_not_read(tmp_path: Path) -> None:
    code, grown = unpacked(a_table(tmp_path / "a.zip", 1500, 1500, b"n" * 65_000), tmp_path / "out")
    assert (code, grown < MOST_BYTES) == ("archive.zip_too_many", True), f"{grown / MIB:.0f} MiB"


def test_what_takes_more_memory_than_there_is_for_it_is_refused(tmp_path: Path) -> None:
    """Its dictionary alone is larger: no count of headers or entries would say so."""
    filters = [{"id": lzma.FILTER_LZMA2, "preset": 0, "dict_size": 96 * MIB}]
    content = header("zeros", tarfile.REGTYPE, 100 * MIB)
    archive = tmp_path / "a.tar.xz"
    with lzma.open(archive, "wb", filters=filters) as file:
        file.write(content)
        for piece in zeros(100 * MIB):
            file.write(piece)
    code, grown = unpacked(archive, tmp_path / "out", 32 * MIB)
    assert (code, grown < MOST_BYTES) == ("archive.too_much_memory", True), f"{grown / MIB:.0f} MiB"
