"""The curves of one job or of several for the graphs, each with x and y of its own."""

from collections.abc import Mapping
from typing import get_args

from portal.job_files.metrics.downsampling import CurvePoints, downsample
from portal.job_files.metrics.job_metrics import CurveAxis, JobMetrics

AXES: tuple[CurveAxis, ...] = get_args(CurveAxis)
RANGES_OF_A_JOB = 250
"""Each range has four points: at most 1,000 per curve, twice the pixels of a chart."""
RANGES_OF_A_SWEEP = 120
RANGES_TOGETHER = 12_000
"""The limit for all curves of an answer together, which is then some 700 kB before compression."""
MAX_COMPARED_JOBS = 6
"""The number of curves that colours and dashes can distinguish."""


def job_curves(metrics: JobMetrics, axis: CurveAxis) -> dict[str, object]:
    """All metrics of one job. `is_cut`: the file is larger than the part that is read. `is_whole`: that part has been
    read.
    """
    ranges = ranges_per_curve(len(metrics.series), RANGES_OF_A_JOB)
    curves = {name: downsample(curve_points(metrics, name, axis), ranges) for name in metrics.series}
    return {
        "series": curves,
        "left_out": len(metrics.left_out),
        "size": metrics.read_bytes,
        "is_cut": metrics.is_cut,
        "is_whole": metrics.is_whole,
    }


def sweep_curves(metrics_by_job: Mapping[int, JobMetrics], axis: CurveAxis) -> dict[str, object]:
    """All metrics of some jobs of a sweep. `984:loss/train` is a metric of job-984."""
    curves: dict[str, CurvePoints] = {}
    for job_id, metrics in metrics_by_job.items():
        ranges = ranges_per_curve(MAX_COMPARED_JOBS * len(metrics.series), RANGES_OF_A_SWEEP)
        for name in metrics.series:
            curves[f"{job_id}:{name}"] = downsample(curve_points(metrics, name, axis), ranges)
    return {
        "series": curves,
        "size": sum(metrics.read_bytes for metrics in metrics_by_job.values()),
        "is_whole": all(metrics.is_whole for metrics in metrics_by_job.values()),
    }


def ranges_per_curve(curves: int, most: int) -> int:
    """The points of each curve, fewer if there are many curves."""
    return max(1, min(most, RANGES_TOGETHER // max(1, curves)))


def curve_points(metrics: JobMetrics, name: str, axis: CurveAxis) -> tuple[list[float], list[float | None]]:
    """The points of a curve. On the time axis x is in minutes since the first row."""
    xs, ys = metrics.points(name, axis)
    if axis == "time" and xs and metrics.first_time is not None:
        xs = [(x - metrics.first_time) / 60 for x in xs]
    return xs, ys
