"""How far a training is, from what it measured: epochs done, time left, the best result so far."""

import math
from dataclasses import dataclass
from datetime import datetime, timedelta

from portal.job_files.metrics import Metrics

ACCURACY = "accuracy/validation"
LOSS = "loss/validation"
SPEED = "images_per_second"
EPOCHS = "epochs"
MANY_ROWS = 8


@dataclass(frozen=True)
class Progress:
    """Epochs may be parts of one; `part` is 0 to 1; None where the program does not say."""

    epoch: float | None
    epochs: float | None
    ends_at: datetime | None = None

    @property
    def part(self) -> float | None:
        if self.epoch is None or not self.epochs:
            return None
        return min(1.0, max(0.0, self.epoch / self.epochs))


def progress_of(metrics: Metrics, now: datetime, is_running: bool) -> Progress:
    """The end is expected at the pace of the newer half of the rows (the first epoch may have compiled)."""
    told = [
        (epoch, time)
        for epoch, time in zip(metrics.epochs, metrics.times, strict=True)
        if not math.isnan(epoch)
    ]
    if not told:
        return Progress(None, metrics.last(EPOCHS))
    epochs = metrics.last(EPOCHS)
    first, last = told[len(told) // 2 if len(told) > MANY_ROWS else 0], told[-1]
    pace = (last[1] - first[1]) / (last[0] - first[0]) if last[0] > first[0] else math.nan
    if not is_running or not epochs or not math.isfinite(pace) or pace <= 0:
        return Progress(last[0], epochs)
    seconds = last[1] + pace * (epochs - last[0]) - now.timestamp()
    return Progress(last[0], epochs, now + timedelta(seconds=max(0.0, min(seconds, 10 * 366 * 86400))))


@dataclass(frozen=True)
class Best:
    """`metric` tells what it is: an accuracy is best at its highest, a loss at its lowest."""

    metric: str
    value: float
    epoch: float | None


def best_of(metrics: Metrics) -> Best | None:
    for metric, is_highest in ((ACCURACY, True), (LOSS, False)):
        found = metrics.best(metric, highest=is_highest)
        if found:
            return Best(metric, *found)
    return None
