"""Retry backoff: a job that the platform interrupts right after each start waits longer each time."""

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from itertools import takewhile
from typing import Any

from cluster.domain.queue.reasons import RetryBackoff

SHORTEST_HEALTHY_ATTEMPT = timedelta(seconds=90)
"""An attempt that lasts longer ends the row of interruptions. The time is longer than a gang may take to start on all
its nodes.
"""
LONGEST_BACKOFF = timedelta(minutes=5)
MAX_INTERRUPTIONS_IN_A_ROW = 20
"""A job that is interrupted more often in a row has failed. These interruptions take about an hour."""


def count_interruptions_in_a_row(ends: Iterable[tuple[str | None, timedelta]]) -> int:
    """Counts the interruptions in a row from (end code, duration) of a job's attempts, the newest first."""
    return sum(1 for _ in takewhile(lambda end: is_interrupted_early(*end), ends))


def is_interrupted_early(end_code: str | None, lasted: timedelta) -> bool:
    return end_code is not None and end_code.startswith("interrupted.") and lasted < SHORTEST_HEALTHY_ATTEMPT


def backoff_after(in_a_row: int) -> timedelta:
    """Returns no pause after the first interruption, because nodes do restart; then 1 s, 2 s, 4 s and so on."""
    if in_a_row < 2:
        return timedelta(0)
    return min(timedelta(seconds=2 ** min(in_a_row - 2, 30)), LONGEST_BACKOFF)


def parse_backoff(code: str | None, data: Mapping[str, Any] | None, now: datetime) -> RetryBackoff | None:
    """Returns the reason of a pause as rows keep it; None if there is no pause or it is over.

    After a clock was set back, a pause that would be longer than the longest possible one counts as over.
    """
    if code != RetryBackoff.code or data is None:
        return None
    until = datetime.fromisoformat(data["until"])
    if not now < until <= now + LONGEST_BACKOFF:
        return None
    known = {name: data[name] for name in ("cause", "attempt", "node", "in_a_row", "pause")}
    return RetryBackoff(**known, until=until)
