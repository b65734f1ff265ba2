"""The values of the queue's page."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from cluster.domain.placement.types import NodeUnits
from cluster.domain.queue.explanations import WaitingExplanation
from cluster.domain.states import NodeState, UnitKind
from cluster.services.queue.queries import QueueFilters
from cluster.services.queue.running_jobs import RunningJob
from portal.presenters.queue import queue_page
from portal.presenters.queue.queue_page import QueueRow

NOW = datetime(2026, 11, 20, 5, 6, tzinfo=UTC)


def at(minutes: int) -> datetime:
    return NOW + timedelta(minutes=minutes)


def a_row(starts_at: datetime | None) -> QueueRow:
    data = {"starts_at": starts_at.isoformat()} if starts_at else {}
    return QueueRow(1, None, 2, WaitingExplanation("waiting.quota_used", data), 0.0)


@pytest.mark.parametrize(
    ("starts", "filters", "expected"),
    [
        ([at(20), at(10), None], {}, at(10)),
        ([at(-5), at(0)], {}, None),
        ([at(10)], {"after": (3, 7)}, None),
        ([at(10)], {"after_head": 3}, None),
        ([at(10)], {"reason": "waiting.quota_used"}, None),
        ([], {}, None),
    ],
)
def test_the_next_expected_start_is_said_at_the_front_of_the_queue(
    starts: list[datetime | None], filters: dict[str, Any], expected: datetime | None
) -> None:
    rows = [a_row(start) for start in starts]
    assert queue_page.next_expected_start(rows, QueueFilters(limit=50, **filters), NOW) == expected


def test_the_node_that_lacks_least_comes_first_and_a_closed_one_last() -> None:
    nodes = [
        NodeUnits(1, "gpu01", NodeState.READY, UnitKind.GPU, (1,), 8),
        NodeUnits(2, "gpu02", NodeState.READY, UnitKind.GPU, (2, 3, 4, 5), 8),
        NodeUnits(3, "gpu03", NodeState.DRAINING, UnitKind.GPU, (6, 7, 8, 9), 8),
    ]
    shortages = queue_page.list_node_shortages(nodes, 4)
    assert [(short.node.name, short.missing) for short in shortages] == [
        ("gpu02", 0),
        ("gpu01", 3),
        ("gpu03", 0),
    ]


def test_a_running_row_has_its_nodes_and_how_long_it_ran() -> None:
    row = queue_page.running_row(RunningJob(1, None, 3, ("gpu01", "gpu02"), at(-10), at(5), 0.5), NOW)
    assert (row.node, row.ran, row.ends_at, row.share_done) == ("gpu01, gpu02", 600.0, at(5), 0.5)
    assert queue_page.running_row(RunningJob(1, None, 3, (), None, None), NOW).ran is None
