"""What a program measured, as columns: rows of `metrics.jsonl`, keeping only what is a number."""

from __future__ import annotations  # array[int] is no class at run time before Python 3.12.

import json
import math
import re
from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import BinaryIO, Literal

from cluster.files.numbers import finite, whole

NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_./ -]{0,63}")
LARGEST_FILE = 32 * 1024 * 1024
LONGEST_LINE = 64 * 1024
MOST_NAMES = 40
PIECE = 1024 * 1024
NOTHING = math.nan

Axis = Literal["step", "epoch", "time"]


@dataclass
class Series:
    """One metric: in which rows it stands and its values; NaN where the program wrote NaN or infinity."""

    rows: array[int] = field(default_factory=lambda: array("q"))
    values: array[float] = field(default_factory=lambda: array("d"))

    @property
    def wrong(self) -> int:
        return sum(map(math.isnan, self.values))


@dataclass
class Metrics:
    """Row i has steps[i], epochs[i] and times[i] (Unix seconds); NaN where it does not say."""

    steps: array[int] = field(default_factory=lambda: array("q"))
    epochs: array[float] = field(default_factory=lambda: array("d"))
    times: array[float] = field(default_factory=lambda: array("d"))
    series: dict[str, Series] = field(default_factory=dict)
    read_bytes: int = 0
    is_cut: bool = False
    """The file is larger than is read (32 MiB)."""

    def points(self, name: str, axis: Axis) -> tuple[list[float], list[float | None]]:
        """x and y of a metric; a point without its x is left out, None is a y that was no number."""
        series = self.series.get(name)
        if series is None:
            return [], []
        axes: dict[str, Sequence[float]] = {"step": self.steps, "epoch": self.epochs, "time": self.times}
        places = axes[axis]
        pairs = [
            (float(x), None if math.isnan(y) else y)
            for row, y in zip(series.rows, series.values, strict=True)
            if not math.isnan(x := places[row])
        ]
        return [x for x, _ in pairs], [y for _, y in pairs]

    def last(self, name: str) -> float | None:
        """The newest value that is a number."""
        series = self.series.get(name, Series())
        return next((value for value in reversed(series.values) if not math.isnan(value)), None)

    def best(self, name: str, *, highest: bool = True) -> tuple[float, float | None] | None:
        """(value, epoch) of the first best value."""
        series = self.series.get(name)
        if series is None:
            return None
        sign = -1 if highest else 1
        having = [
            (sign * y, row) for row, y in zip(series.rows, series.values, strict=True) if not math.isnan(y)
        ]
        if not having:
            return None
        value, row = min(having)
        epoch = self.epochs[row]
        return sign * value, None if math.isnan(epoch) else epoch

    def add(self, line: bytes) -> None:
        """One line; whatever is not a row of numbers is passed over."""
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):
            return
        if not isinstance(row, dict) or not isinstance(scalars := row.get("scalars"), dict):
            return
        if (step := whole(row.get("step"))) is None:
            return
        place = len(self.steps)
        self.steps.append(step)
        self.epochs.append(or_nothing(finite(row.get("epoch"))))
        self.times.append(or_nothing(finite(row.get("time"))))
        for name, value in scalars.items():
            if isinstance(value, bool) or not isinstance(value, int | float) or not NAME.fullmatch(name):
                continue
            if name not in self.series and len(self.series) >= MOST_NAMES:
                continue
            series = self.series.setdefault(name, Series())
            series.rows.append(place)
            series.values.append(or_nothing(finite(value)))

    def read_on(self, file: BinaryIO, size: int) -> None:
        """Takes in whole lines up to byte `size`; the line still being written waits for the next time."""
        end = min(size, LARGEST_FILE)
        self.is_cut = size > LARGEST_FILE
        file.seek(self.read_bytes)
        rest = b""
        while self.read_bytes + len(rest) < end:
            part = file.read(min(PIECE, end - self.read_bytes - len(rest)))
            if not part:
                return
            *lines, rest = (rest + part).split(b"\n")
            for line in lines:
                self.read_bytes += len(line) + 1
                if len(line) <= LONGEST_LINE:
                    self.add(line)
            if len(rest) > LONGEST_LINE:  # No row is that long: its beginning need not be kept.
                self.read_bytes += len(rest)
                rest = b""


def or_nothing(number: float | None) -> float:
    return NOTHING if number is None else number
