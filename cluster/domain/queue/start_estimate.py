"""The start estimate of a waiting job: jobs ahead, whose end frees its units, when, and how certain that is."""

from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum

from cluster.domain.states import UnitKind


class EstimateSource(StrEnum):
    """Where an expected end comes from."""

    TIME_LIMITS = "time_limits"
    HISTORY = "history"
    PROGRESS = "progress"
    """Of the running jobs, as they say themselves."""
    TOTALS = "totals"
    """Of a workspace's whole queue, divided by what it may use: said as a range."""


@dataclass(frozen=True)
class StartEstimate:
    """What is known about the start: who is ahead, what frees the units and when, what would help."""

    ahead: int = 0
    """Jobs of the workspace that come before it, at most MAX_AHEAD_COUNTED."""
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
    source: EstimateSource | None = None
    helps_seconds: int | None = None
    """With this time limit it would start now, because it would be over before it is in the way."""
    is_more_ahead: bool = False
    """There are more than `ahead`."""
    kind: UnitKind | None = None
    """Of `helps_units`, if there are any."""


MAX_AHEAD_COUNTED = 1000
"""Counted exactly up to here: further on the number helps nobody and costs a look at every row."""


UNKNOWN_START = StartEstimate()


def with_jobs_ahead(outlook: StartEstimate, ahead: int) -> StartEstimate:
    """With the jobs ahead as the rows count them; the count may stop at MAX_AHEAD_COUNTED + 1."""
    return replace(outlook, ahead=min(ahead, MAX_AHEAD_COUNTED), is_more_ahead=ahead > MAX_AHEAD_COUNTED)
