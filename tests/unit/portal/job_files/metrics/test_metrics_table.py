"""Rows of metrics become lines to read."""

import json
from pathlib import Path

import pytest

from portal.job_files.metrics.metrics_cache import MetricsCache
from portal.job_files.metrics.metrics_table import MetricsTable, MetricsTableLine, metrics_in_lines


def row(step: int, epoch: float | None = None, time: float = 0.0, **scalars: float) -> str:
    named = {name.replace("__", "/"): value for name, value in scalars.items()}
    return json.dumps({"step": step, "epoch": epoch, "time": time, "scalars": named}) + "\n"


TABLES = {
    "an epoch each, with its last values": (
        [(1, 0.5, 3.0), (2, 1.0, 2.0), (3, 1.5, 1.0)],
        [(1, 2, 2.0), (2, 3, 1.0)],
    ),
    "without epochs each step": ([(1, None, 3.0), (2, None, 2.0)], [(None, 1, 3.0), (None, 2, 2.0)]),
    "rows before the first epoch share a line": (
        [(1, None, 9.0), (2, None, 8.0), (3, 1.0, 7.0)],
        [(0, 2, 8.0), (1, 3, 7.0)],
    ),
}


@pytest.mark.parametrize(("rows", "lines"), TABLES.values(), ids=TABLES)
def test_rows_become_lines_to_read(
    tmp_path: Path,
    rows: list[tuple[int, float | None, float]],
    lines: list[tuple[int | None, int, float]],
) -> None:
    text = "".join(row(step, epoch, 0.0, loss=loss) for step, epoch, loss in rows)
    (tmp_path / "metrics.jsonl").write_text(text)
    table = MetricsCache().read(tmp_path).table
    assert [(line.epoch, line.step, line.values["loss"]) for line in table.lines] == lines


def test_many_epochs_share_a_line(tmp_path: Path) -> None:
    text = "".join(row(epoch * 10, epoch, 0.0, loss=epoch) for epoch in range(1, 301))
    (tmp_path / "metrics.jsonl").write_text(text)
    lines = MetricsCache().read(tmp_path).table.lines
    assert len(lines) == 151
    assert [(line.epoch, line.values["loss"]) for line in lines[:3]] == [(1, 1.0), (3, 3.0), (5, 5.0)]
    assert (lines[-1].epoch, lines[-1].step) == (300, 3000)


def test_the_columns_are_the_metrics_that_have_a_value_somewhere() -> None:
    lines = [MetricsTableLine(1, 1, {"loss": 1.0}), MetricsTableLine(2, 2, {"accuracy": 0.5, "loss": 0.9})]
    assert metrics_in_lines(lines) == ["accuracy", "loss"]
    assert metrics_in_lines(MetricsTable().lines) == []
