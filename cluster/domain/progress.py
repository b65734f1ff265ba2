"""How far a training is and when it will end, from what it has logged (T10)."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from statistics import median

RECENT_EPOCHS = 5


@dataclass(frozen=True)
class Mark:
    """The moment at which an epoch (counted from 1, or a part of one) had been reached."""

    epoch: float
    at: datetime


@dataclass(frozen=True)
class Progress:
    """`share` is 0 to 1; None where the program does not say how many epochs there will be."""

    epoch: float | None = None
    epochs: float | None = None
    share: float | None = None
    ends_at: datetime | None = None
    seconds_per_epoch: float | None = None


def estimate(
    marks: Sequence[Mark],
    epochs: float | None,
    started_at: datetime | None,
    now: datetime,
    time_limit_seconds: float | None = None,
) -> Progress:
    """By the pace of the last epochs; the first one only counts while it is the only one, as it compiles.

    The end is never later than the time limit allows and never in the past.
    """
    limit = started_at + timedelta(seconds=time_limit_seconds) if started_at and time_limit_seconds else None
    steps = _rising(marks)
    if not steps:
        return Progress(epochs=epochs, ends_at=limit)
    last = steps[-1]
    pace = _pace(steps, started_at)
    if not epochs or epochs < last.epoch:
        return Progress(epoch=last.epoch, ends_at=limit, seconds_per_epoch=pace)
    ends_at = None
    if pace is not None:
        ends_at = max(now, last.at + timedelta(seconds=pace * (epochs - last.epoch)))
    known = [moment for moment in (ends_at, limit) if moment]
    return Progress(last.epoch, epochs, last.epoch / epochs, min(known, default=None), pace)


def _rising(marks: Sequence[Mark]) -> list[Mark]:
    """The marks in which the epoch grew: a file written by strangers may say anything."""
    kept: list[Mark] = []
    for mark in marks:
        if mark.epoch > 0 and (not kept or (mark.epoch > kept[-1].epoch and mark.at >= kept[-1].at)):
            kept.append(mark)
    return kept


def _pace(steps: Sequence[Mark], started_at: datetime | None) -> float | None:
    """Seconds per epoch: the median of the last few."""
    recent = steps[-RECENT_EPOCHS - 1 :]
    paces = [
        (later.at - earlier.at).total_seconds() / (later.epoch - earlier.epoch)
        for earlier, later in zip(recent, recent[1:], strict=False)
    ]
    if paces:
        return median(paces)
    if started_at and steps[0].at > started_at:
        return (steps[0].at - started_at).total_seconds() / steps[0].epoch
    return None
