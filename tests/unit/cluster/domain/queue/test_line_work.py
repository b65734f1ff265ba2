"""Deep in the queue the start is a range that follows from the work in the line."""

import pytest

from cluster.domain.placement.deep_queue_estimate import QueuedShapeTotal, measure_line
from cluster.domain.placement.types import RunningOnNode
from cluster.domain.queue.line_work import estimate_start_range
from cluster.domain.queue.start_estimate import EstimateSource, StartEstimate
from tests.unit.cluster.domain.placement.queue_simulation import BEGIN, at

TOTALS = EstimateSource.TOTALS


def run(job_id: int, units: int, end: int) -> RunningOnNode:
    return RunningOnNode(job_id, 1, 1, units, at(end))


@pytest.mark.parametrize(
    ("line", "running", "ahead", "is_more", "earliest", "latest"),
    [
        ([QueuedShapeTotal(1, 100, 60.0)], [], 100, False, 1500, 1560),
        ([QueuedShapeTotal(1, 100, 60.0)], [], 50, False, 750, 810),
        ([QueuedShapeTotal(1, 100, 60.0)], [], 50, True, 750, 1560),
        ([QueuedShapeTotal(4, 10, 60.0)], [], 10, False, 600, 2460),
        ([QueuedShapeTotal(1, 100, 60.0)], [run(9, 2, 200)], 100, False, 1600, 1800),
    ],
)
def test_deep_in_the_queue_a_range_is_told(
    line: list[QueuedShapeTotal],
    running: list[RunningOnNode],
    ahead: int,
    is_more: bool,
    earliest: int,
    latest: int,
) -> None:
    work = measure_line(line, running, 4)
    assert work is not None
    found = estimate_start_range(work, ahead, is_more, BEGIN)
    assert found == StartEstimate(earliest_at=at(earliest), latest_at=at(latest), source=TOTALS)


def test_the_work_of_a_line_stays_the_same_while_time_passes() -> None:
    """A full quota: what is over meanwhile is no work any more, and the start stays where it was."""
    work = measure_line([QueuedShapeTotal(1, 100, 60.0)], [run(9, 4, 200)], 4)
    assert work is not None
    starts = {estimate_start_range(work, 50, False, at(passed)).earliest_at for passed in (0, 50, 199)}
    assert starts == {at(950)}
