"""Measures the work in one workspace's line, from which starts deep in a queue are estimated."""

from collections.abc import Sequence
from dataclasses import dataclass

from cluster.domain.placement.types import RunningOnNode
from cluster.domain.queue.line_work import LineWork


@dataclass(frozen=True)
class QueuedShapeTotal:
    """Jobs of one workspace with the same units; `seconds` is what one of them takes on average."""

    units: int
    count: int
    seconds: float | None


def measure_line(
    line: Sequence[QueuedShapeTotal], running: Sequence[RunningOnNode], quota: int
) -> LineWork | None:
    """Returns None if the length of any job is unknown, or if a job needs more units than the quota."""
    largest = max((total.units for total in line), default=1)
    is_known = all(total.seconds is not None for total in line) and all(run.ends_at for run in running)
    if largest > quota or not line or not is_known:
        return None
    ends = [(run.units, run.ends_at.timestamp()) for run in running if run.ends_at]
    return LineWork(
        quota,
        sum(total.count for total in line),
        sum(total.units * total.count * (total.seconds or 0.0) for total in line),
        largest,
        max(total.seconds or 0.0 for total in line),
        sum(units for units, _ in ends),
        sum(units * end for units, end in ends),
        max((end for _, end in ends), default=0.0),
    )
