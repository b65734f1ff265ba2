"""Which metrics share a graph, and in which order the graphs stand."""

import pytest

from cluster.domain.jobs.metric_names import split_metric_name
from portal.job_files.metrics.job_metrics import MetricSeries
from portal.presenters.jobs.metric_charts import group_metrics


@pytest.mark.parametrize(
    ("name", "base", "split"),
    [
        ("loss/train", "loss", "train"),
        ("train/loss", "loss", "train"),
        ("val_loss", "loss", "validation"),
        ("loss_val", "loss", "validation"),
        ("Train/Loss", "Loss", "train"),
        ("eval/bert/f1", "bert/f1", "validation"),
        ("test", "test", ""),
        ("train/", "train/", ""),
        ("training_time", "time", "train"),
        ("bleu", "bleu", ""),
        ("value/mean", "value/mean", ""),
    ],
)
def test_training_and_validation_are_told_by_the_first_or_last_word(name: str, base: str, split: str) -> None:
    assert split_metric_name(name) == (base, split)


def series_of(**values: list[float]) -> dict[str, MetricSeries]:
    return {
        name.replace("__", "/"): MetricSeries(lowest=(min(found), 0), highest=(max(found), 0))
        for name, found in values.items()
    }


def test_our_own_come_first_and_a_group_stands_together() -> None:
    names = dict.fromkeys(
        ("zeta", "loss__validation", "b__2", "epochs", "a__x", "b__1", "learning_rate", "loss__train"), [1.0]
    )
    charts = group_metrics(series_of(**names))
    assert [(chart.group, chart.name) for chart in charts] == [
        ("", "loss"),
        ("", "learning_rate"),
        ("", "zeta"),
        ("a", "a/x"),
        ("b", "b/1"),
        ("b", "b/2"),
    ]
    assert charts[0].lines == {"loss/train": "train", "loss/validation": "validation"}


def test_no_curve_is_lost_where_two_names_mean_the_same() -> None:
    charts = group_metrics(series_of(val__loss=[1.0], valid__loss=[2.0], loss__val=[3.0]))
    assert sorted(key for chart in charts for key in chart.lines) == ["loss/val", "val/loss", "valid/loss"]


@pytest.mark.parametrize(
    ("name", "values", "is_share"),
    [
        ("accuracy", [0.1, 0.9], True),
        ("top5_acc", [0.0, 1.0], True),
        ("accuracy", [10.0, 90.0], False),
        ("accelerate", [0.1, 0.2], False),
        ("loss", [0.1, 0.2], False),
    ],
)
def test_an_accuracy_between_0_and_1_is_a_share(name: str, values: list[float], is_share: bool) -> None:
    assert group_metrics(series_of(**{name: values}))[0].is_share is is_share
