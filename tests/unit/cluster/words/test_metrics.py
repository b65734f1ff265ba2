"""Lists, sweeps and mails write a headline metric the same way."""

import pytest

from cluster.domain.jobs.headline_metric import HeadlineMetric
from cluster.words import metrics


@pytest.mark.parametrize(
    ("headline", "english", "korean"),
    [
        (
            HeadlineMetric("accuracy/validation", 0.9836, True),
            "val accuracy 98.3 % (best)",
            "검증 정확도 98.3 % (최고)",
        ),
        (
            HeadlineMetric("loss/train", 0.25, False, True),
            "train loss 0.25 (last)",
            "학습 손실 0.25 (마지막)",
        ),
        (HeadlineMetric("bleu", 31.4159, True), "bleu 31.42 (best)", "bleu 31.42 (최고)"),
        (HeadlineMetric("acc", 98.3, True), "acc 98.3 (best)", "acc 98.3 (최고)"),
    ],
)
def test_a_headline_says_metric_value_and_whether_it_is_the_best(
    headline: HeadlineMetric, english: str, korean: str
) -> None:
    assert metrics.format_headline(headline, "en") == english
    assert metrics.format_headline(headline, "ko") == korean


def test_margins_of_an_accuracy_are_points_of_a_percent() -> None:
    assert metrics.format_margins("accuracy/validation", (0.0121, 0.0129)) == "+1.2 … +1.3 %p"
    assert metrics.format_margins("accuracy/validation", (-0.005, -0.005)) == "-0.5 %p"
    assert metrics.format_margins("loss/validation", (0.25, 0.5)) == "+0.25 … +0.5"
