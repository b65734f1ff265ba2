"""Estimate when a running job ends from the epochs that its program reported and their times."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from math import isfinite
from typing import Any

Milestone = tuple[float, float]
"""The number of finished epochs, and the time (Unix seconds)."""

MAX_MILESTONES = 64
MILESTONES_TO_HALVE = 8
"""If there are more milestones, the older half is ignored, because the first epoch may include a compilation."""
LONGEST_REMAINING = timedelta(days=3660)


@dataclass(frozen=True)
class ProgressReport:
    """The progress that a program has reported. `epochs` is None if their total is unknown."""

    epochs: float | None
    milestones: tuple[Milestone, ...]
    """The milestones, the oldest first."""

    @property
    def part(self) -> float | None:
        """The share done, 0 to 1. None if it is unknown."""
        if not self.milestones or not self.epochs:
            return None
        return min(1.0, max(0.0, self.milestones[-1][0] / self.epochs))


@dataclass(frozen=True)
class ProgressEstimate:
    """The share `part` is done. The end has a range that follows from the changing pace."""

    part: float | None = None
    ends_at: datetime | None = None
    earliest_at: datetime | None = None
    latest_at: datetime | None = None


def parse_progress_report(said: Any) -> ProgressReport | None:
    """Parses what a shim wrote. None if it is invalid; the file may be untrusted."""
    if not isinstance(said, dict) or not isinstance(marks := said.get("marks"), list):
        return None
    epochs = said.get("epochs")
    try:
        known = tuple((_number(mark[0]), _number(mark[1])) for mark in marks[-MAX_MILESTONES:])
        return ProgressReport(None if epochs is None else _number(epochs), known)
    except (TypeError, ValueError, IndexError, KeyError, OverflowError):
        return None


def estimate_progress(course: ProgressReport, now: datetime) -> ProgressEstimate:
    """The end at the pace of the newer half of the milestones. The range follows from its
    fastest and slowest pace.
    """
    newer = newer_half(course.milestones)
    pace = seconds_per_epoch(newer)
    if pace is None or not course.epochs:
        return ProgressEstimate(course.part)
    paces = [
        pace,
        *(each for part in (course.milestones, newer_half(newer)) if (each := seconds_per_epoch(part))),
    ]

    def end(seconds: float) -> datetime:
        done, at = course.milestones[-1]
        left = at + seconds * ((course.epochs or 0.0) - done) - now.timestamp()
        return now + timedelta(seconds=max(0.0, min(left, LONGEST_REMAINING.total_seconds())))

    return ProgressEstimate(course.part, end(pace), end(min(paces)), end(max(paces)))


def newer_half(marks: Sequence[Milestone]) -> Sequence[Milestone]:
    return marks[len(marks) // 2 :] if len(marks) > MILESTONES_TO_HALVE else marks


def seconds_per_epoch(marks: Sequence[Milestone]) -> float | None:
    """Seconds per epoch. None if they cannot be computed."""
    if len(marks) < 2:
        return None
    epochs, seconds = marks[-1][0] - marks[0][0], marks[-1][1] - marks[0][1]
    pace = seconds / epochs if epochs > 0 else 0.0
    return pace if isfinite(pace) and pace > 0 else None


def has_changed_visibly(known: ProgressEstimate, found: ProgressEstimate, now: datetime) -> bool:
    """Whether the row has to be written: the share grew by a percent, or the end moved by a twentieth of the rest."""
    if (known.ends_at is None) is not (found.ends_at is None):
        return True
    if abs((known.part or 0.0) - (found.part or 0.0)) >= 0.01:
        return True
    if known.ends_at is None or found.ends_at is None:
        return False
    left = (found.ends_at - now).total_seconds()
    return abs((found.ends_at - known.ends_at).total_seconds()) > max(5.0, left / 20)


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not isfinite(value):
        raise ValueError(value)
    return float(value)
