"""The work of a line is known where the lengths of all its jobs are."""

import pytest

from cluster.domain.placement.deep_queue_estimate import (
    QueuedShapeTotal,
    measure_line,
)
from cluster.domain.placement.types import RunningOnNode
from cluster.domain.queue.line_work import LineWork
from tests.unit.cluster.domain.placement.queue_simulation import at


def run(job_id: int, units: int, end: int | None) -> RunningOnNode:
    return RunningOnNode(job_id, 1, 1, units, None if end is None else at(end))


@pytest.mark.parametrize(
    ("line", "running"),
    [
        ([QueuedShapeTotal(1, 3, None)], []),
        ([QueuedShapeTotal(1, 3, 60.0)], [run(9, 2, None)]),
        ([QueuedShapeTotal(5, 1, 60.0)], []),
        ([], []),
    ],
)
def test_totals_tell_nothing_where_a_length_is_not_known(
    line: list[QueuedShapeTotal], running: list[RunningOnNode]
) -> None:
    assert measure_line(line, running, 4) is None


def test_the_work_of_a_line_is_that_of_its_jobs_and_of_those_that_run() -> None:
    line = [QueuedShapeTotal(1, 3, 60.0), QueuedShapeTotal(2, 1, 100.0)]
    end = at(10).timestamp()
    assert measure_line(line, [run(9, 2, 10)], 4) == LineWork(4, 4, 380.0, 2, 100.0, 2, 2 * end, end)
