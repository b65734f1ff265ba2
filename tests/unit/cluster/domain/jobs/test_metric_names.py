"""The name of a metric says its part of the data, and whether it is an accuracy, a loss or a setting."""

import pytest

from cluster.domain.jobs import metric_names


@pytest.mark.parametrize(
    ("name", "is_accuracy", "is_score", "is_low", "is_input"),
    [
        ("accuracy/validation", True, True, False, False),
        ("val_f1", False, True, False, False),
        ("eval/loss", False, False, True, False),
        ("score_loss", False, False, True, False),
        ("train/lr", False, False, False, True),
        ("images_per_second", False, False, False, False),
        ("vacc_rate", False, False, False, False),
    ],
)
def test_words_of_a_name_say_what_it_is(
    name: str, is_accuracy: bool, is_score: bool, is_low: bool, is_input: bool
) -> None:
    assert metric_names.is_accuracy(name) is is_accuracy
    assert metric_names.is_score(name) is is_score
    assert metric_names.is_lower_better(name) is is_low
    assert metric_names.is_input(name) is is_input
