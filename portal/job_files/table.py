"""Metrics as lines to read: one per epoch with the last value of each, or one per stretch of steps."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from portal.job_files.metrics import Metrics

MOST_LINES = 200


@dataclass
class Line:
    """`epoch` None: the program does not count epochs. A name that is missing was not measured here."""

    epoch: int | None
    step: int
    values: dict[str, float] = field(default_factory=dict)


def lines_of(metrics: Metrics) -> list[Line]:
    """In the order in which they came, at most 200: beyond that several epochs share a line."""
    if not metrics.steps:
        return []
    has_epochs = any(not math.isnan(epoch) for epoch in metrics.epochs)
    marks = [line_mark(metrics, row, has_epochs) for row in range(len(metrics.steps))]
    width = max(1, math.ceil((max(marks) + 1) / MOST_LINES))
    lines: dict[int, Line] = {}
    for row, mark in enumerate(marks):
        line = lines.setdefault(mark // width, Line(None, 0))
        line.epoch, line.step = (mark if has_epochs else None), metrics.steps[row]
    for name, series in metrics.series.items():
        for row, value in zip(series.rows, series.values, strict=True):
            if not math.isnan(value):
                lines[marks[row] // width].values[name] = value
    return list(lines.values())


def line_mark(metrics: Metrics, row: int, has_epochs: bool) -> int:
    """The epoch that a row belongs to (0.5 and 1.0 are the first), or its own step."""
    if not has_epochs:
        return metrics.steps[row]
    epoch = metrics.epochs[row]
    return 0 if math.isnan(epoch) else max(0, math.ceil(epoch))


def names_of(lines: list[Line]) -> list[str]:
    """Every metric that has a value somewhere."""
    seen: Mapping[str, None] = {name: None for line in lines for name in line.values}
    return sorted(seen)
