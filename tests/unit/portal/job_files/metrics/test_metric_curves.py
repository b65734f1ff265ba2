"""Metrics become curves for the graphs: of one job, and of several jobs of a sweep."""

import json

import pytest

from portal.job_files.metrics.job_metrics import CurveAxis, JobMetrics
from portal.job_files.metrics.metric_curves import job_curves, ranges_per_curve, sweep_curves


def metrics_of(*rows: tuple[int, float, float]) -> JobMetrics:
    """(step, time, loss) of each row; two steps are an epoch."""
    metrics = JobMetrics()
    for step, time, loss in rows:
        row = {"step": step, "epoch": step / 2, "time": time, "scalars": {"loss": loss}}
        metrics.add(json.dumps(row).encode())
    return metrics


@pytest.mark.parametrize(("axis", "xs"), [("step", [1.0, 2.0]), ("epoch", [0.5, 1.0]), ("time", [0.0, 2.0])])
def test_the_time_axis_has_minutes_since_the_first_row(axis: CurveAxis, xs: list[float]) -> None:
    curves = job_curves(metrics_of((1, 600, 3.0), (2, 720, 2.0)), axis)
    assert curves["series"] == {"loss": (xs, [3.0, 2.0])}
    assert (curves["is_cut"], curves["is_whole"]) == (False, True)


def test_each_curve_of_several_jobs_has_its_own_x() -> None:
    one, other = metrics_of((1, 0, 3.0), (2, 0, 2.0)), metrics_of((2, 0, 9.0))
    one.read_bytes, other.read_bytes, other.is_whole = 10, 5, False
    curves = sweep_curves({7: one, 8: other}, "step")
    assert curves["series"] == {"7:loss": ([1.0, 2.0], [3.0, 2.0]), "8:loss": ([2.0], [9.0])}
    assert (curves["size"], curves["is_whole"]) == (15, False)


@pytest.mark.parametrize(
    ("curves", "most", "ranges"),
    [(1, 250, 250), (6, 250, 250), (200, 250, 60), (20_000, 250, 1), (0, 120, 120)],
)
def test_many_curves_have_fewer_points_each(curves: int, most: int, ranges: int) -> None:
    assert ranges_per_curve(curves, most) == ranges
