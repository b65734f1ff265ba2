"""What is known about a waiting job's start, and what would help (Q4)."""

from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum


class Source(StrEnum):
    """Where an expected end comes from."""

    TIME_LIMITS = "time_limits"
    HISTORY = "history"
    PROGRESS = "progress"
    """Of the running jobs, as they say themselves."""
    TOTALS = "totals"
    """Of a workspace's whole queue, divided by what it may use: said as a range."""


@dataclass(frozen=True)
class Outlook:
    """What is known about the start: who is ahead, what frees the units and when, what would help."""

    ahead: int = 0
    """Jobs of the workspace that come before it, at most MOST_AHEAD."""
    first_ahead: int | None = None
    freed_by: int | None = None
    """The running job whose end lets this one start."""
    starts_at: datetime | None = None
    """The likeliest moment; None: not known."""
    starts_on_node: str | None = None
    helps_units: int | None = None
    """With this many units it would start now."""
    earliest_at: datetime | None = None
    latest_at: datetime | None = None
    source: Source | None = None
    helps_seconds: int | None = None
    """With this time limit it would start now, because it would be over before it is in the way."""
    is_more_ahead: bool = False
    """There are more than `ahead`."""


MOST_AHEAD = 1000
"""Counted exactly up to here: further on the number helps nobody and costs a look at every row."""


NOTHING_KNOWN = Outlook()


def counted_ahead(outlook: Outlook, ahead: int) -> Outlook:
    """With the jobs ahead as the rows count them; the count may stop at MOST_AHEAD + 1."""
    return replace(outlook, ahead=min(ahead, MOST_AHEAD), is_more_ahead=ahead > MOST_AHEAD)
