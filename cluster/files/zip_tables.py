"""Checks the table of a zip archive, which zipfile reads into memory as a whole, before zipfile opens it."""

import os
import struct
import zipfile
from pathlib import Path
from typing import IO

ZIP_ENTRIES = 250_000
"""The largest number of entries. zipfile keeps about 600 bytes per entry while the archive is open."""
ZIP_TABLE_BYTES = 64 * 1024 * 1024
END_ENTRIES, END_SIZE, END_PLACE = 4, 5, 9
"""Positions in the end record as zipfile reads it: number of entries, size of the table, position of the record."""
LARGE_END_BYTES = 56 + 20
"""The size of a large archive's own end record and its locator, which are between the table and the end record."""
TABLE_RECORD = struct.Struct("<4s24xHHH12x")
"""The record of PKWARE's APPNOTE 4.3.12: signature, then the lengths of name, extra field and comment; 46 bytes."""


class TooManyEntries(Exception):
    """The archive has more entries than the limit, or its table is larger than it may be."""

    def __init__(self, count: int) -> None:
        super().__init__(count)
        self.count = count


def check_zip_table(archive: Path) -> None:
    """Counts the entries of a zip before zipfile makes an object of each.

    Raises TooManyEntries, zipfile.BadZipFile and OSError.
    """
    with archive.open("rb") as file:
        # This is the end record that zipfile uses. Code of our own could find another record, with another number.
        end = zipfile._EndRecData(file)  # type: ignore[attr-defined]
        if not end:
            raise zipfile.BadZipFile
        said, size, place = end[END_ENTRIES], end[END_SIZE], end[END_PLACE]
        is_large = end[0] == b"PK\x06\x06"
        begin = place - size - (LARGE_END_BYTES if is_large else 0)
        if begin < 0:
            raise zipfile.BadZipFile
        count = said
        if said <= ZIP_ENTRIES and size <= ZIP_TABLE_BYTES:
            file.seek(begin)
            count = count_records(file, size)
    if count > ZIP_ENTRIES or size > ZIP_TABLE_BYTES:
        raise TooManyEntries(count)


def count_records(file: IO[bytes], size: int) -> int:
    """Counts the records in the table of `size` bytes. It stops after the largest allowed number."""
    count = read = 0
    while read < size and count <= ZIP_ENTRIES:
        record = file.read(TABLE_RECORD.size)
        if len(record) < TABLE_RECORD.size:
            raise zipfile.BadZipFile
        signature, *lengths = TABLE_RECORD.unpack(record)
        if signature != b"PK\x01\x02":
            raise zipfile.BadZipFile
        file.seek(sum(lengths), os.SEEK_CUR)
        read += TABLE_RECORD.size + sum(lengths)
        count += 1
    return count
