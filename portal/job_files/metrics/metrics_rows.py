"""Parses the rows of `metrics.jsonl`, which a user program writes."""

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import BinaryIO

from cluster.files.untrusted_numbers import finite_or_none, whole_or_none

NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_./ -]{0,99}")
LARGEST_FILE = 32 * 1024 * 1024
LONGEST_LINE = 64 * 1024
PIECE = 128 * 1024
MISSING = math.nan
MOST_NOT_FINITE = 1_000
NUMBERS = (int, float)
"""Booleans do not count as numbers."""


@dataclass(frozen=True)
class MetricsRow:
    """`epoch` and `time` (Unix seconds) are NaN if the row lacks them. A value is NaN if it was no number."""

    step: int
    epoch: float
    time: float
    scalars: Mapping[str, float]


def parse_metrics_row(line: bytes) -> MetricsRow | None:
    """Returns None for a line that is no row of numbers."""
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(row, dict) or not isinstance(scalars := row.get("scalars"), dict):
        return None
    if (step := whole_or_none(row.get("step"))) is None:
        return None
    numbers = {
        name: nan_if_none(finite_or_none(value))
        for name, value in scalars.items()
        if type(value) in NUMBERS and is_metric_name(name)
    }
    said = row.get("not_finite")
    if isinstance(said, list):
        # JSON has no NaN: groundcrew_job writes null and names the metric beside.
        for name in said[:MOST_NOT_FINITE]:
            if isinstance(name, str) and name in scalars and scalars[name] is None and is_metric_name(name):
                numbers[name] = MISSING
    return MetricsRow(
        step,
        nan_if_none(finite_or_none(row.get("epoch"))),
        nan_if_none(finite_or_none(row.get("time"))),
        numbers,
    )


@lru_cache(1024)
def is_metric_name(text: str) -> bool:
    """Whether the text is a valid name. The result is cached, because programs write the same few names in each row."""
    return NAME.fullmatch(text) is not None


def nan_if_none(number: float | None) -> float:
    return MISSING if number is None else number


class MetricsLineReader:
    """Reads the whole lines of a file from byte `place` to byte `end`, one per call. `place` is then behind the last
    one.
    """

    def __init__(self, file: BinaryIO, place: int, end: int) -> None:
        self.file = file
        self.place = place
        self.end = end
        self.waiting: list[bytes] = []
        self.rest = b""
        file.seek(place)

    def next(self) -> bytes | None:
        """The next line, or None at the end. A line that is longer than any row is returned empty."""
        while not self.waiting:
            room = self.end - self.place - len(self.rest)
            part = self.file.read(min(PIECE, room)) if room > 0 else b""
            if not part:
                return None
            *lines, self.rest = (self.rest + part).split(b"\n")
            self.waiting = lines[::-1]
            if not lines and len(self.rest) > LONGEST_LINE:
                # No row is that long, so its beginning is dropped.
                self.place += len(self.rest)
                self.rest = b""
        line = self.waiting.pop()
        self.place += len(line) + 1
        return line if len(line) <= LONGEST_LINE else b""
