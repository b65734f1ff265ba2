"""Collects a job's metrics (curves, table, last and best values) in memory that does not grow with the file."""

from __future__ import annotations  # array[float] is no class at run time before Python 3.12.

import math
from array import array
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import BinaryIO, Literal

from portal.job_files.metrics.metrics_rows import (
    LARGEST_FILE,
    MetricsLineReader,
    MetricsRow,
    parse_metrics_row,
)
from portal.job_files.metrics.metrics_table import MetricsTable

MAX_METRICS = 200
MAX_LEFT_OUT = 1_000
"""The number of names beyond MAX_METRICS that are counted."""
MAX_POINTS = 6_000
"""The limit per metric. A curve is drawn with at most 1,000 points, see downsampling.py."""
MAX_POINTS_TOGETHER = 240_000
"""The limit for all metrics of a job together, at some 40 bytes a point. If there are more than 40 metrics, each has
fewer points.
"""
POINTS_PER_RANGE = 8

CurveAxis = Literal["step", "epoch", "time"]


@dataclass
class MetricSeries:
    """The points of one metric: the first, lowest, highest and last of each `width` consecutive rows.

    A value that is no number (NaN) is kept as one of them.
    """

    width: int = 1
    rows: array[int] = field(default_factory=lambda: array("q"))
    steps: array[float] = field(default_factory=lambda: array("d"))
    epochs: array[float] = field(default_factory=lambda: array("d"))
    times: array[float] = field(default_factory=lambda: array("d"))
    values: array[float] = field(default_factory=lambda: array("d"))
    not_finite_count: int = 0
    """The number of values that were no numbers."""
    last: float | None = None
    """The newest value that is a number."""
    lowest: tuple[float, float] | None = None
    highest: tuple[float, float] | None = None
    """The value and epoch of the first highest value. The epoch is NaN if the row has none."""

    def add(self, number: int, row: MetricsRow, value: float, limit: int = MAX_POINTS) -> None:
        self.rows.append(number)
        self.steps.append(row.step)
        self.epochs.append(row.epoch)
        self.times.append(row.time)
        self.values.append(value)
        if len(self.rows) > limit:
            self.downsample(limit // POINTS_PER_RANGE)
        if math.isnan(value):
            self.not_finite_count += 1
            return
        self.last = value
        if self.lowest is None or value < self.lowest[0]:
            self.lowest = value, row.epoch
        if self.highest is None or value > self.highest[0]:
            self.highest = value, row.epoch

    def downsample(self, ranges: int) -> None:
        while (self.rows[-1] - self.rows[0]) // self.width >= ranges:
            self.width *= 2
        places = [place for stretch in self.row_ranges() for place in self.first_lowest_highest_last(stretch)]
        self.rows = array("q", [self.rows[place] for place in places])
        self.steps, self.epochs, self.times, self.values = (
            array("d", [column[place] for place in places])
            for column in (self.steps, self.epochs, self.times, self.values)
        )

    def row_ranges(self) -> Iterator[range]:
        """The positions of points whose rows lie within the same `width` rows."""
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
    """The metrics of the first `read_bytes` of a file with `size` bytes."""

    rows: int = 0
    series: dict[str, MetricSeries] = field(default_factory=dict)
    left_out: set[str] = field(default_factory=set)
    """Names beyond MAX_METRICS, at most MAX_LEFT_OUT of them."""
    table: MetricsTable = field(default_factory=MetricsTable)
    last_epoch: float | None = None
    first_time: float | None = None
    """Unix seconds of the first row with a time."""
    read_bytes: int = 0
    size: int = 0
    is_whole: bool = True
    """Whether everything was read, except a line that is still written and what comes after 32 MiB."""

    @property
    def is_cut(self) -> bool:
        """Whether the file is larger than the part that is read (32 MiB)."""
        return self.size > LARGEST_FILE

    @property
    def point_count(self) -> int:
        return sum(len(series.rows) for series in self.series.values())

    def points(self, name: str, axis: CurveAxis) -> tuple[list[float], list[float | None]]:
        """x and y of a metric. Points without x are left out, and y is None for a value that was no number."""
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
        """The value and epoch of the first best value."""
        series = self.series.get(name)
        best = (series.highest if highest else series.lowest) if series else None
        if best is None:
            return None
        value, epoch = best
        return value, None if math.isnan(epoch) else epoch

    def add(self, line: bytes) -> None:
        """Adds one line. A line that is no row of numbers is ignored."""
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
        limit = min(MAX_POINTS, MAX_POINTS_TOGETHER // max(1, len(self.series)))
        for name, value in limited.scalars.items():
            self.series.setdefault(name, MetricSeries()).add(number, row, value, limit)

    def limit_names(self, row: MetricsRow) -> MetricsRow:
        """The row without names beyond the allowed number."""
        room = MAX_METRICS - len(self.series)
        new = [name for name in row.scalars if name not in self.series]
        if len(new) <= room:
            return row
        dropped = set(new[max(0, room) :])
        self.left_out |= set(sorted(dropped)[: MAX_LEFT_OUT - len(self.left_out)])
        scalars = {name: value for name, value in row.scalars.items() if name not in dropped}
        return MetricsRow(row.step, row.epoch, row.time, scalars)

    def new_lines(self, file: BinaryIO, size: int) -> MetricsLineReader:
        """The lines that were added to the file since the last call, without one that is still written."""
        self.size = size
        return MetricsLineReader(file, self.read_bytes, min(size, LARGEST_FILE))

    def read_line(self, lines: MetricsLineReader) -> bool:
        """Reads one line. Returns False if there is none."""
        line = lines.next()
        self.is_whole = line is None
        self.read_bytes = lines.place
        if line is not None:
            self.add(line)
        return line is not None

    def copy(self) -> JobMetrics:
        series = {name: one.copy() for name, one in self.series.items()}
        return JobMetrics(
            self.rows, series, set(self.left_out), self.table.copy(), self.last_epoch, self.first_time,
            self.read_bytes, self.size, self.is_whole,
        )  # fmt: skip
