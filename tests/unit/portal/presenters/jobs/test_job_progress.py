"""How far a program is and its best result, from what it wrote."""

import json
from datetime import UTC, datetime, timedelta

import pytest

from portal.job_files.metrics.job_metrics import JobMetrics
from portal.presenters.jobs.job_progress import BestMetric, EpochProgress, best_metric, epoch_progress

NOW = datetime(2026, 11, 20, 5, 6, tzinfo=UTC)
LATER, EARLIER = NOW + timedelta(hours=1), NOW - timedelta(hours=1)


def metrics_of(epoch: float | None, **scalars: float) -> JobMetrics:
    metrics = JobMetrics()
    named = {name.replace("__", "/"): value for name, value in scalars.items()}
    metrics.add(json.dumps({"step": 1, "epoch": epoch, "scalars": named}).encode())
    return metrics


@pytest.mark.parametrize(
    ("metrics", "expected_end_at", "progress", "share"),
    [
        (metrics_of(3, epochs=4), LATER, EpochProgress(3, 4, LATER), 0.75),
        (metrics_of(3, epochs=4), EARLIER, EpochProgress(3, 4, NOW), 0.75),
        (metrics_of(3, epochs=4), None, EpochProgress(3, 4, None), 0.75),
        (metrics_of(5, epochs=4), None, EpochProgress(5, 4, None), 1.0),
        (metrics_of(3, loss=1), None, EpochProgress(3, None, None), None),
        (metrics_of(None, epochs=4), LATER, EpochProgress(None, 4, None), None),
    ],
)
def test_the_share_that_is_done(
    metrics: JobMetrics, expected_end_at: datetime | None, progress: EpochProgress, share: float | None
) -> None:
    found = epoch_progress(metrics, NOW, expected_end_at)
    assert (found, found.share_done) == (progress, share)


@pytest.mark.parametrize(
    ("metrics", "best"),
    [
        (
            metrics_of(2, accuracy__validation=0.9, loss__validation=0.3),
            BestMetric("accuracy/validation", 0.9, 2),
        ),
        (metrics_of(2, loss__validation=0.3), BestMetric("loss/validation", 0.3, 2)),
        (metrics_of(2, loss__train=0.3), None),
    ],
)
def test_an_accuracy_counts_before_a_loss(metrics: JobMetrics, best: BestMetric | None) -> None:
    assert best_metric(metrics) == best
