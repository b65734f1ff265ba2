"""Collects a job's metrics (curves, table, last and best values) in memory that does not grow with the file."""

from __future__ import annotations  # array[float] is no class at run time before Python 3.12.

import math
from array import array
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import BinaryIO, Literal

from portal.job_files.metrics_rows import LARGEST_FILE, MetricsLineReader, MetricsRow, parse_metrics_row
from portal.job_files.metrics_table import MetricsTable

MAX_METRICS = 40
MAX_POINTS = 6_000
"""Of one metric; a curve is drawn with at most 1,000 of them, see downsampling.py."""
MAX_RANGES = 750

CurveAxis = Literal["step", "epoch", "time"]


@dataclass
class MetricSeries:
    """The points of one metric: of `width` rows that follow each other the first, lowest, highest and last stay.

    A value that was no number (NaN) is news and stays as one of them.
    """

    width: int = 1
    rows: array[int] = field(default_factory=lambda: array("q"))
    steps: array[float] = field(default_factory=lambda: array("d"))
    epochs: array[float] = field(default_factory=lambda: array("d"))
    times: array[float] = field(default_factory=lambda: array("d"))
    values: array[float] = field(default_factory=lambda: array("d"))
    not_finite_count: int = 0
    """How many values were no numbers."""
    last: float | None = None
    """The newest value that is a number."""
    lowest: tuple[float, float] | None = None
    highest: tuple[float, float] | None = None
    """(value, epoch) of the first such value; NaN if the row has no epoch."""

    def add(self, number: int, row: MetricsRow, value: float) -> None:
        self.rows.append(number)
        self.steps.append(row.step)
        self.epochs.append(row.epoch)
        self.times.append(row.time)
        self.values.append(value)
        if len(self.rows) > MAX_POINTS:
            self.downsample()
        if math.isnan(value):
            self.not_finite_count += 1
            return
        self.last = value
        if self.lowest is None or value < self.lowest[0]:
            self.lowest = value, row.epoch
        if self.highest is None or value > self.highest[0]:
            self.highest = value, row.epoch

    def downsample(self) -> None:
        while (self.rows[-1] - self.rows[0]) // self.width >= MAX_RANGES:
            self.width *= 2
        places = [place for stretch in self.row_ranges() for place in self.first_lowest_highest_last(stretch)]
        self.rows = array("q", [self.rows[place] for place in places])
        self.steps, self.epochs, self.times, self.values = (
            array("d", [column[place] for place in places])
            for column in (self.steps, self.epochs, self.times, self.values)
        )

    def row_ranges(self) -> Iterator[range]:
        """Places of points whose rows lie within the same `width` rows."""
        begin = 0
        for place in range(1, len(self.rows) + 1):
            is_over = place == len(self.rows)
            if is_over or self.rows[place] // self.width != self.rows[begin] // self.width:
                yield range(begin, place)
                begin = place

    def first_lowest_highest_last(self, places: range) -> list[int]:
        numbers = [(self.values[place], place) for place in places if not math.isnan(self.values[place])]
        missing = next((place for place in places if math.isnan(self.values[place])), places[0])
        ends = {places[0], places[-1], missing}
        return sorted(ends | ({min(numbers)[1], max(numbers)[1]} if numbers else set()))

    def copy(self) -> MetricSeries:
        return MetricSeries(
            self.width, self.rows[:], self.steps[:], self.epochs[:], self.times[:], self.values[:],
            self.not_finite_count, self.last, self.lowest, self.highest,
        )  # fmt: skip


@dataclass
class JobMetrics:
    """Of the first `read_bytes` of a file with `size` bytes."""

    rows: int = 0
    series: dict[str, MetricSeries] = field(default_factory=dict)
    table: MetricsTable = field(default_factory=MetricsTable)
    last_epoch: float | None = None
    first_time: float | None = None
    """Unix seconds of the first row that tells a time."""
    read_bytes: int = 0
    size: int = 0
    is_whole: bool = True
    """Nothing is left that will be read: but for a line that is still being written, and for what is beyond 32 MiB."""

    @property
    def is_cut(self) -> bool:
        """The file is larger than is read (32 MiB)."""
        return self.size > LARGEST_FILE

    @property
    def point_count(self) -> int:
        return sum(len(series.rows) for series in self.series.values())

    def points(self, name: str, axis: CurveAxis) -> tuple[list[float], list[float | None]]:
        """x and y of a metric; a point without its x is left out, None is a y that was no number."""
        series = self.series.get(name)
        if series is None:
            return [], []
        xs = {"step": series.steps, "epoch": series.epochs, "time": series.times}[axis]
        pairs = [
            (x, None if math.isnan(y) else y)
            for x, y in zip(xs, series.values, strict=True)
            if not math.isnan(x)
        ]
        return [x for x, _ in pairs], [y for _, y in pairs]

    def last(self, name: str) -> float | None:
        """The newest value that is a number."""
        series = self.series.get(name)
        return series.last if series else None

    def best(self, name: str, *, highest: bool = True) -> tuple[float, float | None] | None:
        """(value, epoch) of the first best value."""
        series = self.series.get(name)
        best = (series.highest if highest else series.lowest) if series else None
        if best is None:
            return None
        value, epoch = best
        return value, None if math.isnan(epoch) else epoch

    def add(self, line: bytes) -> None:
        """One line; whatever is not a row of numbers is passed over."""
        row = parse_metrics_row(line)
        if row is None:
            return
        number, self.rows = self.rows, self.rows + 1
        if not math.isnan(row.epoch):
            self.last_epoch = row.epoch
        if self.first_time is None and not math.isnan(row.time):
            self.first_time = row.time
        limited = self.limit_names(row)
        self.table.add(limited)
        for name, value in limited.scalars.items():
            self.series.setdefault(name, MetricSeries()).add(number, row, value)

    def limit_names(self, row: MetricsRow) -> MetricsRow:
        """Without what is beyond so many names."""
        room = MAX_METRICS - len(self.series)
        new = [name for name in row.scalars if name not in self.series]
        if len(new) <= room:
            return row
        dropped = set(new[max(0, room) :])
        scalars = {name: value for name, value in row.scalars.items() if name not in dropped}
        return MetricsRow(row.step, row.epoch, row.time, scalars)

    def new_lines(self, file: BinaryIO, size: int) -> MetricsLineReader:
        """Those that have been added to the file since; the line still being written waits for the next time."""
        self.size = size
        return MetricsLineReader(file, self.read_bytes, min(size, LARGEST_FILE))

    def read_line(self, lines: MetricsLineReader) -> bool:
        """One line more; False where there is none."""
        line = lines.next()
        self.is_whole = line is None
        self.read_bytes = lines.place
        if line is not None:
            self.add(line)
        return line is not None

    def copy(self) -> JobMetrics:
        series = {name: one.copy() for name, one in self.series.items()}
        return JobMetrics(
            self.rows, series, self.table.copy(), self.last_epoch, self.first_time,
            self.read_bytes, self.size, self.is_whole,
        )  # fmt: skip
