"""The start estimate of a waiting job: jobs ahead, whose end frees its units, when, and how certain that is."""

from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum

from cluster.domain.states import UnitKind


class EstimateSource(StrEnum):
    """The origin of an expected end."""

    TIME_LIMITS = "time_limits"
    HISTORY = "history"
    PROGRESS = "progress"
    """The running jobs report it themselves."""
    TOTALS = "totals"
    """The work of a workspace's whole queue is divided by the units that it may use. The result is a range."""


@dataclass(frozen=True)
class StartEstimate:
    """The facts about a job's start: who is ahead, what frees the units and when, what would help."""

    ahead: int = 0
    """Jobs of the workspace that come before it, at most MAX_AHEAD_COUNTED."""
    first_ahead: int | None = None
    freed_by: int | None = None
    """The running job whose end lets this one start."""
    starts_at: datetime | None = None
    """The likeliest moment; None: not known."""
    starts_on_node: str | None = None
    helps_units: int | None = None
    """The number of units with which it would start now."""
    earliest_at: datetime | None = None
    latest_at: datetime | None = None
    source: EstimateSource | None = None
    helps_seconds: int | None = None
    """The time limit in seconds with which it would start now, because it would end before the reserved moment."""
    is_more_ahead: bool = False
    """There are more jobs than `ahead`."""
    kind: UnitKind | None = None
    """The kind of `helps_units`."""


MAX_AHEAD_COUNTED = 1000
"""The largest exact count. A larger one would help nobody and cost reading every row."""


UNKNOWN_START = StartEstimate()


def with_jobs_ahead(outlook: StartEstimate, ahead: int) -> StartEstimate:
    """Returns the estimate with the number of jobs ahead from the rows. The count may stop at MAX_AHEAD_COUNTED + 1."""
    return replace(outlook, ahead=min(ahead, MAX_AHEAD_COUNTED), is_more_ahead=ahead > MAX_AHEAD_COUNTED)
