"""Condenses metrics into a table of at most 200 lines: one per epoch, or one per range of steps."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from portal.job_files.metrics.metrics_rows import MetricsRow

MAX_LINES = 200


@dataclass
class MetricsTableLine:
    """`epoch` is None if the program does not count epochs. A missing name was not measured here."""

    epoch: int | None
    step: int
    values: dict[str, float] = field(default_factory=dict)


@dataclass
class MetricsTable:
    """A table of at most 200 lines. If there would be more, `width` epochs (or steps) share a line."""

    has_epochs: bool = False
    width: int = 1
    lines_by_key: dict[int, MetricsTableLine] = field(default_factory=dict)

    @property
    def lines(self) -> list[MetricsTableLine]:
        """The lines in the order in which they were logged."""
        return list(self.lines_by_key.values())

    def add(self, row: MetricsRow) -> None:
        if not self.has_epochs and not math.isnan(row.epoch):
            self.count_epochs()
        mark = self.line_key(row)
        while mark // self.width >= MAX_LINES:
            self.widen()
        line = self.lines_by_key.setdefault(mark // self.width, MetricsTableLine(None, 0))
        line.epoch, line.step = (mark if self.has_epochs else None), row.step
        for name, value in row.scalars.items():
            if not math.isnan(value):
                line.values[name] = value

    def line_key(self, row: MetricsRow) -> int:
        """The epoch to which a row belongs (0.5 and 1.0 are the first), or its own step."""
        if not self.has_epochs:
            return row.step
        return 0 if math.isnan(row.epoch) else max(0, math.ceil(row.epoch))

    def count_epochs(self) -> None:
        """Handles the first row with an epoch. All rows before it have none and share the line before the first."""
        before, self.lines_by_key, self.width, self.has_epochs = self.lines, {}, 1, True
        for line in before:
            self.merge(0, MetricsTableLine(0, line.step, line.values))

    def widen(self) -> None:
        """Joins each two neighbouring lines, with the last values of both."""
        before, self.lines_by_key = self.lines_by_key, {}
        self.width *= 2
        for key, line in before.items():
            self.merge(key // 2, line)

    def merge(self, key: int, line: MetricsTableLine) -> None:
        merged = self.lines_by_key.setdefault(key, MetricsTableLine(line.epoch, line.step))
        merged.epoch, merged.step = line.epoch, line.step
        merged.values |= line.values

    def copy(self) -> "MetricsTable":
        lines = {
            key: MetricsTableLine(line.epoch, line.step, dict(line.values))
            for key, line in self.lines_by_key.items()
        }
        return MetricsTable(self.has_epochs, self.width, lines)


def metrics_in_lines(lines: list[MetricsTableLine]) -> list[str]:
    """Every metric that has a value in a line."""
    names: Mapping[str, None] = {name: None for line in lines for name in line.values}
    return sorted(names)
