"""A row of metrics.jsonl is what a program wrote, and may be anything."""

import math
from io import BytesIO

import pytest

from portal.job_files.metrics.metrics_rows import (
    LONGEST_LINE,
    MetricsLineReader,
    is_metric_name,
    parse_metrics_row,
)


def test_a_row_has_a_step_and_named_numbers() -> None:
    row = parse_metrics_row(
        b'{"step": 3, "epoch": 0.5, "scalars": {"loss": 2, "ok": true, "<b>": 1, "x": NaN}}'
    )
    assert row is not None
    assert (row.step, row.epoch, row.scalars["loss"]) == (3, 0.5, 2.0)
    assert math.isnan(row.time)
    assert math.isnan(row.scalars["x"])
    assert set(row.scalars) == {"loss", "x"}


@pytest.mark.parametrize(
    "line",
    [b"", b"{", b"[]", b'{"step": 1}', b'{"step": -1, "scalars": {}}', b'{"step": 1.5, "scalars": {}}'],
)
def test_anything_else_is_no_row(line: bytes) -> None:
    assert parse_metrics_row(line) is None


@pytest.mark.parametrize(
    ("name", "is_one"),
    [
        ("loss", True),
        ("val/top-5 acc.", True),
        ("", False),
        ("=1", False),
        ("a" * 100, True),
        ("a" * 101, False),
    ],
)
def test_a_name_is_plain(name: str, is_one: bool) -> None:
    assert is_metric_name(name) is is_one


def test_only_whole_lines_are_read_and_a_long_one_is_empty() -> None:
    data = b"one\n" + b"x" * (LONGEST_LINE + 1) + b"\ntwo\nhalf"
    lines = MetricsLineReader(BytesIO(data), 0, len(data))
    assert [lines.next() for _ in range(4)] == [b"one", b"", b"two", None]
    assert lines.place == len(data) - 4


@pytest.mark.parametrize(
    ("said", "names"),
    [
        (b'["loss", "other", 7, "<b>"]', {"loss", "rate"}),
        (b'["rate"]', {"rate"}),
        (b'"loss"', {"rate"}),
        (b"null", {"rate"}),
    ],
)
def test_a_number_that_is_named_as_not_finite_is_one(said: bytes, names: set[str]) -> None:
    row = parse_metrics_row(
        b'{"step": 1, "scalars": {"loss": null, "rate": 0.1, "<b>": null}, "not_finite": ' + said + b"}"
    )
    assert row is not None and set(row.scalars) == names
    assert row.scalars["rate"] == 0.1
    assert "loss" not in names or math.isnan(row.scalars["loss"])
