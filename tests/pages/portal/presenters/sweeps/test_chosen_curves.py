"""A click on a job adds its curve or takes it away."""

import pytest

from cluster.domain.states import JobState
from cluster.domain.sweeps.comparison import SweepJobResult
from portal.job_files.metrics.metric_curves import MAX_COMPARED_JOBS
from portal.presenters.sweeps.chosen_curves import toggle_curve

FULL = list(range(1, MAX_COMPARED_JOBS + 1))


@pytest.mark.parametrize(
    ("drawn", "clicked", "then"),
    [
        ([1, 2], 3, [1, 2, 3]),
        ([1, 2], 1, [2]),
        ([1], 1, "none"),
        (FULL, MAX_COMPARED_JOBS + 1, [*FULL[1:], MAX_COMPARED_JOBS + 1]),
    ],
)
def test_a_click_toggles_a_curve(drawn: list[int], clicked: int, then: list[int] | str) -> None:
    assert toggle_curve([a_result(job) for job in drawn], clicked) == then


def a_result(job_id: int) -> SweepJobResult:
    return SweepJobResult(job_id, job_id, JobState.RUNNING, {})
