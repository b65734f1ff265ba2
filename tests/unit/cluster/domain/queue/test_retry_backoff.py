"""A job whose attempts are interrupted as soon as they begin waits longer each time, and not for ever."""

from datetime import UTC, datetime, timedelta

import pytest

from cluster.domain.queue.reasons import AttemptInterrupted, RetryBackoff, to_waiting_data
from cluster.domain.queue.retry_backoff import (
    MAX_INTERRUPTIONS_IN_A_ROW,
    SHORTEST_HEALTHY_ATTEMPT,
    backoff_after,
    count_interruptions_in_a_row,
    parse_backoff,
)

NOW = datetime(2026, 11, 20, 5, 0, tzinfo=UTC)
SECOND = timedelta(seconds=1)
QUICK = ("interrupted.node_rebooted", SECOND)
OTHER = ("interrupted.shim_lost", SECOND)
LONG = ("interrupted.node_rebooted", SHORTEST_HEALTHY_ATTEMPT)
OWN_FAULT = ("exit.error", SECOND)


@pytest.mark.parametrize(
    ("ends", "expected"),
    [
        ([], 0),
        ([QUICK], 1),
        ([QUICK, OTHER, QUICK], 3),
        ([LONG, QUICK], 0),
        ([QUICK, LONG, QUICK], 1),
        ([QUICK, OWN_FAULT, QUICK], 1),
        ([OWN_FAULT], 0),
    ],
)
def test_what_lasted_or_failed_by_itself_ends_the_row(
    ends: list[tuple[str | None, timedelta]], expected: int
) -> None:
    assert count_interruptions_in_a_row(ends) == expected


def test_pauses_grow_to_five_minutes_and_end_within_two_hours() -> None:
    pauses = [int(backoff_after(number).total_seconds()) for number in range(1, MAX_INTERRUPTIONS_IN_A_ROW)]
    assert pauses[:6] == [0, 1, 2, 4, 8, 16]
    assert pauses == sorted(pauses) and pauses[-1] == 300
    assert 1800 < sum(pauses) < 7200


def test_a_row_keeps_a_pause_until_it_is_over() -> None:
    reason = RetryBackoff("interrupted.node_rebooted", 3, "gpu08", 3, 2, NOW + 2 * SECOND)
    kept = {"node": "gpu08", "more": 1} | to_waiting_data(reason)
    assert parse_backoff(reason.code, kept, NOW) == reason
    assert parse_backoff(reason.code, kept, NOW + 2 * SECOND) is None
    assert parse_backoff(AttemptInterrupted.code, kept, NOW) is None
    assert parse_backoff(None, None, NOW) is None


def test_a_clock_that_was_set_back_prolongs_no_pause() -> None:
    reason = RetryBackoff("interrupted.node_rebooted", 3, "gpu08", 3, 2, NOW + 2 * SECOND)
    assert parse_backoff(reason.code, to_waiting_data(reason), NOW - timedelta(hours=1)) is None
