"""Archives that are small to send and large to read."""

import gzip
import io
import struct
import tarfile
import zipfile
from pathlib import Path

MIB = 1024 * 1024
NAME_BYTES = 1024 * MIB
ZEROS_MIB = 512
ZIP_ENTRIES = 250_000


def write_bombs(folder: Path) -> None:
    long_header(folder / "long-name.tar.gz", tarfile.GNUTYPE_LONGNAME)
    long_header(folder / "pax.tar.gz", tarfile.XHDTYPE)
    many_entries(folder / "entries.zip")
    zeros(folder / "zeros.zip")
    nested(folder / "nested.zip", folder / "zeros.zip")


def long_header(file: Path, kind: bytes) -> None:
    """One entry whose name alone would be 1 GiB."""
    header = tarfile.TarInfo("././@LongLink")
    header.type, header.size = kind, NAME_BYTES
    with gzip.open(file, "wb", compresslevel=1) as packed:
        packed.write(header.tobuf(tarfile.GNU_FORMAT))
        letters = b"a" * MIB
        for _ in range(NAME_BYTES // MIB):
            packed.write(letters)
        packed.write(tarfile.TarInfo("file").tobuf(tarfile.GNU_FORMAT) + b"\0" * 1024)


def many_entries(file: Path) -> None:
    """A list of empty files that all stand in the same place: 50 bytes each, ten times that once they are read."""
    local = struct.pack("<4s5H3L2H", b"PK\3\4", 20, 0, 0, 0, 33, 0, 0, 0, 4, 0) + b"0000"
    listed = b"".join(
        struct.pack("<4s6H3L5H2L", b"PK\1\2", 20, 20, 0, 0, 0, 33, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0)
        + b"%04x" % (number % 0x10000)
        for number in range(ZIP_ENTRIES)
    )
    zip64 = struct.pack(
        "<4sQ2H2L4Q", b"PK\6\6", 44, 45, 45, 0, 0, ZIP_ENTRIES, ZIP_ENTRIES, len(listed), len(local)
    )
    locator = struct.pack("<4sLQL", b"PK\6\7", 0, len(local) + len(listed), 1)
    end = struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, 0xFFFF, 0xFFFF, len(listed), len(local), 0)
    file.write_bytes(local + listed + zip64 + locator + end)


def zeros(file: Path) -> None:
    """A thousandth of what it unpacks to."""
    with (
        zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as packed,
        packed.open("zeros.bin", "w") as entry,
    ):
        for _ in range(ZEROS_MIB):
            entry.write(b"\0" * MIB)


def nested(file: Path, inner: Path) -> None:
    """Sixteen of them in one more."""
    content = inner.read_bytes()
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as packed:
        for number in range(16):
            packed.writestr(f"{number}.zip", content)
    file.write_bytes(buffer.getvalue())
