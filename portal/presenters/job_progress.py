"""How far a training is, from what it measured: epochs done, time left, the best result so far."""

from dataclasses import dataclass
from datetime import datetime

from portal.job_files.metrics import JobMetrics

ACCURACY = "accuracy/validation"
LOSS = "loss/validation"
SPEED = "images_per_second"
EPOCHS = "epochs"


@dataclass(frozen=True)
class EpochProgress:
    """Epochs may be parts of one; `share_done` is 0 to 1; None where the program does not say."""

    epoch: float | None
    epochs: float | None
    ends_at: datetime | None = None

    @property
    def share_done(self) -> float | None:
        if self.epoch is None or not self.epochs:
            return None
        return min(1.0, max(0.0, self.epoch / self.epochs))


def epoch_progress(metrics: JobMetrics, now: datetime, expected_end_at: datetime | None) -> EpochProgress:
    """`expected_end_at`: what the row says, as every page does; None for one that does not run."""
    epochs = metrics.last(EPOCHS)
    if metrics.last_epoch is None:
        return EpochProgress(None, epochs)
    return EpochProgress(metrics.last_epoch, epochs, max(now, expected_end_at) if expected_end_at else None)


@dataclass(frozen=True)
class BestMetric:
    """`metric` tells what it is: an accuracy is best at its highest, a loss at its lowest."""

    metric: str
    value: float
    epoch: float | None


def best_metric(metrics: JobMetrics) -> BestMetric | None:
    for metric, is_highest in ((ACCURACY, True), (LOSS, False)):
        found = metrics.best(metric, highest=is_highest)
        if found:
            return BestMetric(metric, *found)
    return None
