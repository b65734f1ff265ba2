"""The curves of one job or of several as columns for the graphs: one column of x, and one of values for each curve."""

from collections.abc import Mapping
from typing import get_args

from portal.job_files.downsampling import CurvePoints, downsample, join_curves
from portal.job_files.metrics import CurveAxis, JobMetrics

AXES: tuple[CurveAxis, ...] = get_args(CurveAxis)
RANGES_OF_A_JOB = 250
"""Four points each: at most 1,000 of a curve, twice the pixels of a chart."""
RANGES_OF_A_SWEEP = 120
RANGES_TOGETHER = 1_500
MAX_COMPARED_JOBS = 6
"""As many as there are colours and dashes to tell them apart."""


def job_curves(metrics: JobMetrics, axis: CurveAxis) -> dict[str, object]:
    """All metrics of one job. `is_cut`: the file is larger than is read; `is_whole`: all that will be read was read."""
    ranges = ranges_per_curve(len(metrics.series), RANGES_OF_A_JOB)
    curves = {name: downsample(curve_points(metrics, name, axis), ranges) for name in metrics.series}
    return curve_columns(curves) | {
        "size": metrics.read_bytes,
        "is_cut": metrics.is_cut,
        "is_whole": metrics.is_whole,
    }


def sweep_curves(metrics_by_job: Mapping[int, JobMetrics], axis: CurveAxis) -> dict[str, object]:
    """All metrics of some jobs of a sweep: `984:loss/train` is a metric of job-984."""
    curves: dict[str, CurvePoints] = {}
    for job_id, metrics in metrics_by_job.items():
        ranges = ranges_per_curve(MAX_COMPARED_JOBS * len(metrics.series), RANGES_OF_A_SWEEP)
        for name in metrics.series:
            curves[f"{job_id}:{name}"] = downsample(curve_points(metrics, name, axis), ranges)
    return curve_columns(curves) | {
        "size": sum(metrics.read_bytes for metrics in metrics_by_job.values()),
        "is_whole": all(metrics.is_whole for metrics in metrics_by_job.values()),
    }


def curve_columns(curves: Mapping[str, CurvePoints]) -> dict[str, object]:
    xs, columns = join_curves(curves)
    return {"x": xs, "series": columns}


def ranges_per_curve(curves: int, most: int) -> int:
    """Fewer of each if there are many: curves that have no x in common share columns as long as all together."""
    return max(1, min(most, RANGES_TOGETHER // max(1, curves)))


def curve_points(metrics: JobMetrics, name: str, axis: CurveAxis) -> tuple[list[float], list[float | None]]:
    """On the time axis x is in minutes since the first row."""
    xs, ys = metrics.points(name, axis)
    if axis == "time" and xs and metrics.first_time is not None:
        xs = [(x - metrics.first_time) / 60 for x in xs]
    return xs, ys
