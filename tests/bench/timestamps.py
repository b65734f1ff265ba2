"""Moments that programs wrote, and what lies between them."""

from collections.abc import Iterable
from datetime import datetime
from pathlib import Path


def parse_moment(text: str) -> float:
    """ISO text to seconds since the epoch."""
    return datetime.fromisoformat(text).timestamp()


def read_naps(files: Iterable[Path]) -> list[tuple[float, float]]:
    """(begin, end) that each program wrote as two lines."""
    found = []
    for file in files:
        begun, ended = file.read_text().split()
        found.append((float(begun), float(ended)))
    return found


def idle_gaps(naps: list[tuple[float, float]], slots: int) -> list[float]:
    """Seconds between the end of a program and the start of the next on that slot.

    On `slots` that are always full the n-th end is answered by the (n + slots)-th start.
    """
    starts = sorted(begun for begun, _ in naps)
    ends = sorted(ended for _, ended in naps)
    return [start - end for end, start in zip(ends, starts[slots:], strict=False)]
