"""One metric names a job in lists: its objective, else what was validated, else the first that was logged."""

from typing import Any

import pytest

from cluster.domain.jobs.headline_metric import (
    HeadlineMetric,
    Objective,
    choose_headline_metric,
    has_headline_changed,
    parse_objective,
)
from cluster.domain.jobs.metric_names import is_accuracy, is_input, is_score

BEST, LAST = True, False


@pytest.mark.parametrize(
    ("results", "objective", "metric", "value", "is_best"),
    [
        (
            {"loss/train": (1, 3, 2), "accuracy/validation": (0.1, 0.9, 0.8)},
            None,
            "accuracy/validation",
            0.9,
            BEST,
        ),
        ({"loss/validation": (1, 3, 2), "val_f1": (0.1, 0.9, 0.8)}, None, "val_f1", 0.9, BEST),
        ({"loss/train": (1, 3, 2), "eval/loss": (2, 4, 3)}, None, "eval/loss", 2, BEST),
        ({"epochs": (9, 9, 9), "lr": (0.1, 0.1, 0.1), "bleu": (10, 30, 20)}, None, "bleu", 20, LAST),
        ({"loss/train": (1, 3, 2), "accuracy/train": (0.1, 0.9, 0.8)}, None, "loss/train", 2, LAST),
        ({"accuracy/validation": (0, 1, 1), "bleu": (10, 30, 20)}, Objective("bleu"), "bleu", 30, BEST),
        ({"accuracy/validation": (0, 1, 1), "wait": (1, 3, 2)}, Objective("wait", True), "wait", 1, BEST),
        ({"accuracy/validation": (0, 1, 0.5)}, Objective("not_logged"), "accuracy/validation", 1, BEST),
    ],
)
def test_the_headline_is_what_the_program_aims_at_else_what_was_validated(
    results: Any, objective: Objective | None, metric: str, value: float, is_best: bool
) -> None:
    found = choose_headline_metric(results, objective)
    assert found is not None
    assert (found.metric, found.value, found.is_best) == (metric, value, is_best)


@pytest.mark.parametrize("results", [{}, {"learning_rate": (1, 1, 1), "epochs": (3, 3, 3)}])
def test_settings_are_no_headline(results: Any) -> None:
    assert choose_headline_metric(results) is None


def test_the_better_one_has_the_higher_score() -> None:
    assert HeadlineMetric("loss", 0.2, BEST, True).score > HeadlineMetric("loss", 0.3, BEST, True).score
    assert HeadlineMetric("bleu", 30, BEST).score > HeadlineMetric("bleu", 20, BEST).score


@pytest.mark.parametrize(
    ("known", "found", "has_changed"),
    [
        (None, None, False),
        (None, HeadlineMetric("a", 1, LAST), True),
        (HeadlineMetric("a", 0.98321, BEST), HeadlineMetric("a", 0.98322, BEST), False),
        (HeadlineMetric("a", 0.983, BEST), HeadlineMetric("a", 0.984, BEST), True),
        (HeadlineMetric("a", 0.983, LAST), HeadlineMetric("a", 0.983, BEST), True),
        (HeadlineMetric("a", 0.983, LAST), HeadlineMetric("b", 0.983, LAST), True),
    ],
)
def test_only_what_lists_would_show_is_written(
    known: HeadlineMetric | None, found: HeadlineMetric | None, has_changed: bool
) -> None:
    assert has_headline_changed(known, found) is has_changed


def test_an_objective_is_read_from_an_untrusted_file() -> None:
    assert parse_objective(None) is None
    assert parse_objective({"metric": "bleu"}) == Objective("bleu")
    assert parse_objective({"metric": "wer", "lower_is_better": True}) == Objective("wer", True)
    for wrong in ("bleu", {}, {"metric": 3}, {"metric": "a", "lower_is_better": "yes"}, ["bleu"]):
        with pytest.raises(TypeError):
            parse_objective(wrong)


def test_a_name_says_what_a_metric_is() -> None:
    assert is_accuracy("val_acc")
    assert not is_accuracy("vacc_rate")
    assert is_score("f1/validation")
    assert not is_score("score_loss")
    assert is_input("train/lr")
    assert not is_input("steps_per_second")
