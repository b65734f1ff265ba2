"""Jobs ahead are counted exactly to a thousand."""

import pytest

from cluster.domain.queue.start_estimate import MAX_AHEAD_COUNTED, UNKNOWN_START, with_jobs_ahead


@pytest.mark.parametrize(
    ("count", "ahead", "is_more"),
    [
        (0, 0, False),
        (MAX_AHEAD_COUNTED, MAX_AHEAD_COUNTED, False),
        (MAX_AHEAD_COUNTED + 1, MAX_AHEAD_COUNTED, True),
    ],
)
def test_beyond_that_there_are_more(count: int, ahead: int, is_more: bool) -> None:
    estimate = with_jobs_ahead(UNKNOWN_START, count)
    assert (estimate.ahead, estimate.is_more_ahead) == (ahead, is_more)
