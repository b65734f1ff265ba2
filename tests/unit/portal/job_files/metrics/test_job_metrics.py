"""The metrics of a job in memory: curves, last and best values."""

import json
import math

import pytest

from portal.job_files.metrics.job_metrics import MAX_METRICS, MAX_POINTS, JobMetrics


def metrics_of(*rows: dict[str, object]) -> JobMetrics:
    metrics = JobMetrics()
    for row in rows:
        metrics.add(json.dumps(row).encode())
    return metrics


def test_the_best_value_is_the_first_of_its_kind_with_its_epoch() -> None:
    metrics = metrics_of(
        {"step": 1, "epoch": 1, "scalars": {"accuracy": 0.5}},
        {"step": 2, "epoch": 2, "scalars": {"accuracy": 0.9}},
        {"step": 3, "epoch": 3, "scalars": {"accuracy": 0.9}},
        {"step": 4, "scalars": {"accuracy": 0.1}},
    )
    assert metrics.best("accuracy") == (0.9, 2)
    assert metrics.best("accuracy", highest=False) == (0.1, None)
    assert metrics.best("loss") is None
    assert (metrics.last("accuracy"), metrics.last("loss")) == (0.1, None)
    assert (metrics.last_epoch, metrics.rows) == (3, 4)


def test_a_value_that_is_no_number_is_a_gap_and_no_best_value() -> None:
    metrics = metrics_of({"step": 1, "scalars": {"loss": 2.0}}, {"step": 2, "scalars": {"loss": math.nan}})
    assert metrics.points("loss", "step") == ([1, 2], [2.0, None])
    assert metrics.points("loss", "epoch") == ([], [])
    assert (metrics.best("loss"), metrics.last("loss")) == ((2.0, None), 2.0)


@pytest.mark.parametrize(
    "line", [b"", b"{}", b"[1]", b'{"step": 1}', b'{"step": "x", "scalars": {}}', b"\xff"]
)
def test_a_line_that_is_no_row_is_not_counted(line: bytes) -> None:
    metrics = JobMetrics()
    metrics.add(line)
    assert (metrics.rows, metrics.series) == (0, {})


def test_points_and_names_have_a_limit_and_a_spike_stays() -> None:
    metrics = JobMetrics()
    for step in range(2 * MAX_POINTS):
        spike = 99.0 if step == 777 else 1.0
        metrics.add(json.dumps({"step": step, "scalars": {"loss": spike}}).encode())
    metrics.add(json.dumps({"step": 1, "scalars": {f"m{n}": 1.0 for n in range(2 * MAX_METRICS)}}).encode())
    assert len(metrics.points("loss", "step")[0]) <= MAX_POINTS
    assert 99.0 in metrics.points("loss", "step")[1]
    assert len(metrics.series) == MAX_METRICS


def test_a_copy_does_not_change_with_the_original() -> None:
    metrics = metrics_of({"step": 1, "scalars": {"loss": 2.0}})
    copy = metrics.copy()
    metrics.add(b'{"step": 2, "scalars": {"loss": 1.0}}')
    assert (copy.points("loss", "step"), copy.rows, copy.point_count) == (([1], [2.0]), 1, 1)
