"""When a running job will end, from how fast it gets on: epochs done and at which times."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from math import isfinite
from typing import Any

Mark = tuple[float, float]
"""Epochs done, and when (Unix seconds)."""

MOST_MARKS = 64
MANY_MARKS = 8
"""With more, the older half is left out: the first epoch may have compiled."""
LONGEST = timedelta(days=3660)


@dataclass(frozen=True)
class Course:
    """What a program has said of its way; `epochs` None: not how many it will do."""

    epochs: float | None
    marks: tuple[Mark, ...]
    """The oldest first."""

    @property
    def part(self) -> float | None:
        """0 to 1; None where it is not known."""
        if not self.marks or not self.epochs:
            return None
        return min(1.0, max(0.0, self.marks[-1][0] / self.epochs))


@dataclass(frozen=True)
class Progress:
    """`part` of the way is done; the end is told with the range that its changing pace leaves open."""

    part: float | None = None
    ends_at: datetime | None = None
    earliest_at: datetime | None = None
    latest_at: datetime | None = None


def parse_course(said: Any) -> Course | None:
    """From what a shim wrote; None where it makes no sense: the file may be a stranger's."""
    if not isinstance(said, dict) or not isinstance(marks := said.get("marks"), list):
        return None
    epochs = said.get("epochs")
    try:
        known = tuple((_number(mark[0]), _number(mark[1])) for mark in marks[-MOST_MARKS:])
        return Course(None if epochs is None else _number(epochs), known)
    except (TypeError, ValueError, IndexError, KeyError, OverflowError):
        return None


def progress_of(course: Course, now: datetime) -> Progress:
    """The end at the pace of the newer half; earliest and latest at its fastest and slowest of late."""
    newer = newer_half(course.marks)
    pace = pace_of(newer)
    if pace is None or not course.epochs:
        return Progress(course.part)
    paces = [pace, *(each for part in (course.marks, newer_half(newer)) if (each := pace_of(part)))]

    def end(seconds: float) -> datetime:
        done, at = course.marks[-1]
        left = at + seconds * ((course.epochs or 0.0) - done) - now.timestamp()
        return now + timedelta(seconds=max(0.0, min(left, LONGEST.total_seconds())))

    return Progress(course.part, end(pace), end(min(paces)), end(max(paces)))


def newer_half(marks: Sequence[Mark]) -> Sequence[Mark]:
    return marks[len(marks) // 2 :] if len(marks) > MANY_MARKS else marks


def pace_of(marks: Sequence[Mark]) -> float | None:
    """Seconds per epoch; None where it cannot be told."""
    if len(marks) < 2:
        return None
    epochs, seconds = marks[-1][0] - marks[0][0], marks[-1][1] - marks[0][1]
    pace = seconds / epochs if epochs > 0 else 0.0
    return pace if isfinite(pace) and pace > 0 else None


def is_news(known: Progress, found: Progress, now: datetime) -> bool:
    """Whether a row is to be written: a percent more, or an end that moved by a twentieth of what is left."""
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
