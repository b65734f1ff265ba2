"""Every row of a job's metrics as CSV, straight from the file: nothing of it is kept in memory."""

import contextlib
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import BinaryIO

from portal.job_files.metrics import MOST_NAMES
from portal.job_files.metrics_rows import LARGEST_FILE, Lines, Row, parse_row
from portal.job_files.pace import Pace

HEAD = ("step", "epoch", "time")
PIECE_CHARACTERS = 64 * 1024
PLACES, PLACES_PER_PERSON = 16, 2
"""Each holds a thread of the portal for as long as its reader takes."""


class CsvPlaces:
    """How many files are being written, for each person and together."""

    def __init__(self) -> None:
        self.taken: Counter[int] = Counter()
        self.lock = threading.Lock()

    def take(self, user_id: int) -> "CsvPlace | None":
        """None where none is free."""
        with self.lock:
            if self.taken[user_id] >= PLACES_PER_PERSON or self.taken.total() >= PLACES:
                return None
            self.taken[user_id] += 1
            return CsvPlace(self, user_id)


class CsvPlace:
    """Given back once, by whatever comes first: the end of the file, or of the request."""

    def __init__(self, places: CsvPlaces, user_id: int) -> None:
        self.places = places
        self.user_id = user_id
        self.is_taken = True

    def close(self) -> None:
        with self.places.lock:
            if self.is_taken:
                self.is_taken = False
                self.places.taken[self.user_id] -= 1


def csv_text(
    file: BinaryIO, size: int, names: Sequence[str] | None, pace: Pace, place: CsvPlace
) -> Iterator[str]:
    """Pieces of text, made in turns; closes the file and gives the place back.

    `names` None: the file is read once more, before, to know them.
    """
    with file, contextlib.closing(place):
        end = min(size, LARGEST_FILE)
        if names is None:
            found: dict[str, None] = {}
            names_of_rows = NamesOfRows(Lines(file, 0, end), found)
            for _ in pace.turns(names_of_rows.step):
                pass
            names = sorted(found)
        rows = TextOfRows(Lines(file, 0, end), names)
        for _ in pace.turns(rows.step):
            if rows.length >= PIECE_CHARACTERS:
                yield rows.take()
        yield rows.take()


class NamesOfRows:
    """The first names that a file has, as many as are shown of one."""

    def __init__(self, lines: Lines, found: dict[str, None]) -> None:
        self.lines = lines
        self.found = found

    def step(self) -> bool:
        line = self.lines.next()
        row = parse_row(line) if line is not None else None
        for name in row.scalars if row else ():
            if len(self.found) < MOST_NAMES:
                self.found.setdefault(name)
        return line is not None and len(self.found) < MOST_NAMES


class TextOfRows:
    """Names are plain (see metrics_rows), so no cell is a formula."""

    def __init__(self, lines: Lines, names: Sequence[str]) -> None:
        self.lines = lines
        self.names = names
        self.parts = [",".join([*HEAD, *names]) + "\n"]
        self.length = 0

    def step(self) -> bool:
        line = self.lines.next()
        if line is None:
            return False
        if row := parse_row(line):
            self.parts.append(text_of(row, self.names))
            self.length += len(self.parts[-1])
        return True

    def take(self) -> str:
        text = "".join(self.parts)
        self.parts, self.length = [], 0
        return text


def text_of(row: Row, names: Sequence[str]) -> str:
    values = [row.epoch, row.time, *(row.scalars.get(name) for name in names)]
    return ",".join([str(row.step), *("" if one is None else repr(one) for one in values)]) + "\n"
