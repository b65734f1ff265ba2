"""How many jobs wait, in words."""

import pytest

from cluster.services.queue.reason_counts import ReasonCount
from portal.presenters.queue.queue_summary import reason_count_text, waiting_summary

CODE = "waiting.quota_used"


@pytest.mark.parametrize(
    ("counts", "summary"),
    [
        ([], "Nothing waits"),
        ([(1, False)], "1 job waits"),
        ([(2, False), (3, False)], "5 jobs wait"),
        ([(1000, True)], "More than 1,000 jobs wait"),
        ([(600, False), (600, False)], "More than 1,000 jobs wait"),
    ],
)
def test_the_summary_is_exact_to_a_thousand(counts: list[tuple[int, bool]], summary: str) -> None:
    assert waiting_summary([ReasonCount(CODE, count, is_more) for count, is_more in counts]) == summary


@pytest.mark.parametrize(
    ("count", "is_more", "text"), [(7, False, "7"), (1000, False, "1,000"), (1000, True, "1,000+")]
)
def test_a_count_that_goes_on_has_a_plus(count: int, is_more: bool, text: str) -> None:
    assert reason_count_text(ReasonCount(CODE, count, is_more)) == text
