"""The overview of the queue survives the database, and says what keeps a job whatever its place is."""

import json

import pytest

from cluster.domain.queue.explanations import WaitingExplanation
from cluster.domain.queue.line_work import LineWork
from cluster.domain.queue.overview import FreeBlock, QueueOverview, overview_to_data, parse_overview

TERM, DATASET, ENVIRONMENT, SWEEP = (
    WaitingExplanation(code, {"name": code}) for code in ("t", "d", "e", "s")
)
FULL = QueueOverview(
    [3, 1],
    {7: 3},
    {"waiting.quota_used": [3]},
    {8: TERM},
    {5: DATASET},
    ENVIRONMENT,
    {9: SWEEP},
    [4],
    {7: LineWork(4, 100, 6000.0, 1, 60.0, 2, 12.5, 10.0)},
    FreeBlock(3, "gpu01"),
)


@pytest.mark.parametrize("overview", [QueueOverview([], {}, {}, {}, {}, None, {}, [], {}), FULL])
def test_an_overview_is_read_as_it_was_written(overview: QueueOverview) -> None:
    assert parse_overview(json.loads(json.dumps(overview_to_data(overview)))) == overview


@pytest.mark.parametrize(
    ("workspace", "dataset", "sweep", "everybody", "expected"),
    [
        (8, 5, 9, ENVIRONMENT, TERM),
        (7, 5, 9, ENVIRONMENT, DATASET),
        (7, None, 9, ENVIRONMENT, ENVIRONMENT),
        (7, None, 9, None, SWEEP),
        (7, 6, None, None, None),
    ],
)
def test_the_first_that_applies_keeps_a_job(
    workspace: int,
    dataset: int | None,
    sweep: int | None,
    everybody: WaitingExplanation | None,
    expected: WaitingExplanation | None,
) -> None:
    overview = QueueOverview(
        workspaces={8: TERM}, datasets={5: DATASET}, everybody=everybody, full_sweeps={9: SWEEP}
    )
    assert overview.shared_reason(workspace, dataset, sweep) == expected
