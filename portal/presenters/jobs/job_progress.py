"""The progress of a job's program and its best result, from the metrics that it has written."""

from dataclasses import dataclass
from datetime import datetime

from portal.job_files.metrics.job_metrics import JobMetrics

ACCURACY = "accuracy/validation"
LOSS = "loss/validation"
EPOCHS = "epochs"


@dataclass(frozen=True)
class EpochProgress:
    """The progress in epochs. `epoch` may be a fraction; both numbers are None if the program does not write them."""

    epoch: float | None
    epochs: float | None
    ends_at: datetime | None = None

    @property
    def share_done(self) -> float | None:
        """The share of the epochs that is done, 0 to 1."""
        if self.epoch is None or not self.epochs:
            return None
        return min(1.0, max(0.0, self.epoch / self.epochs))


@dataclass(frozen=True)
class BestMetric:
    """The best value of one metric: the highest of an accuracy, the lowest of a loss."""

    metric: str
    value: float
    epoch: float | None


def epoch_progress(metrics: JobMetrics, now: datetime, expected_end_at: datetime | None) -> EpochProgress:
    """`expected_end_at` is the attempt's, None for a job that does not run; an end in the past is moved to `now`."""
    epochs = metrics.last(EPOCHS)
    if metrics.last_epoch is None:
        return EpochProgress(None, epochs)
    return EpochProgress(metrics.last_epoch, epochs, max(now, expected_end_at) if expected_end_at else None)


def best_metric(metrics: JobMetrics) -> BestMetric | None:
    for metric, is_highest in ((ACCURACY, True), (LOSS, False)):
        best = metrics.best(metric, highest=is_highest)
        if best:
            return BestMetric(metric, *best)
    return None
