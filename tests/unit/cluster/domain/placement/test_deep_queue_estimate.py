"""Deep in the queue the start is a range that follows from totals."""

import pytest

from cluster.domain.placement.deep_queue_estimate import QueuedShapeTotal, estimate_start_range
from cluster.domain.placement.start_forecast import StartForecast
from cluster.domain.placement.types import RunningOnNode
from cluster.domain.queue.start_estimate import (
    EstimateSource,
)
from tests.unit.cluster.domain.placement.queue_simulation import BEGIN, at

LIMITS, HISTORY = EstimateSource.TIME_LIMITS, EstimateSource.HISTORY


def run(job_id: int, units: int, end: int | None, source: EstimateSource | None = LIMITS) -> RunningOnNode:
    return RunningOnNode(job_id, 1, 1, units, None if end is None else at(end), source=source)


@pytest.mark.parametrize(
    ("ahead", "earliest", "latest"),
    [
        ([QueuedShapeTotal(1, 100, 60.0)], 1500, 1560),
        ([QueuedShapeTotal(4, 10, 60.0)], 600, 2460),
        ([], 0, 0),
    ],
)
def test_deep_in_the_queue_a_range_is_told(ahead: list[QueuedShapeTotal], earliest: int, latest: int) -> None:
    found = estimate_start_range(7, ahead, [], 4, BEGIN)
    assert found == StartForecast(7, None, at(earliest), at(latest), EstimateSource.TOTALS)


def test_totals_tell_nothing_where_a_length_is_not_known() -> None:
    assert estimate_start_range(7, [QueuedShapeTotal(1, 3, None)], [], 4, BEGIN) is None
    assert estimate_start_range(7, [], [run(9, 2, None)], 4, BEGIN) is None
    assert estimate_start_range(7, [QueuedShapeTotal(5, 1, 60.0)], [], 4, BEGIN) is None
