"""A comparison has columns, an order of rows, and a winner."""

from cluster.domain.states import JobState
from cluster.domain.sweeps.comparison import (
    SweepJobResult,
    best_result,
    is_descending_first,
    measured_metrics,
    sort_results,
)
from cluster.domain.sweeps.plan import SweepKind, SweepPlan

PLAN = SweepPlan(SweepKind.GRID, {"lr": ("0.1", "1e-2", "fast"), "batch": (32,)})


def entry(
    number: int, accuracy: float | None = None, seconds: float | None = None, **more: float
) -> SweepJobResult:
    results = {name: (value, value, value) for name, value in more.items()}
    if accuracy is not None:
        results["accuracy/validation"] = (0.0, accuracy, 0.1)
    return SweepJobResult(number, 100 + number, JobState.FINISHED, results, seconds)


def numbers(entries: list[SweepJobResult]) -> list[int]:
    return [each.number for each in entries]


def test_people_compare_by_validation_first_and_not_by_what_was_chosen() -> None:
    rows = [
        entry(1, 0.5, learning_rate=0.1, speed=3),
        entry(2, loss=1),
        SweepJobResult(3, 3, JobState.WAITING, {}),
    ]
    assert measured_metrics(rows) == ["accuracy/validation", "loss", "speed"]


def test_the_best_accuracy_is_the_highest_and_the_best_loss_the_lowest() -> None:
    rows = [entry(1, 0.5, loss=2), entry(2, 0.7, loss=3), entry(3, 0.7, loss=1), entry(4)]
    assert best_result(rows, "accuracy/validation") is rows[1]
    assert best_result(rows, "loss") is rows[2]
    assert best_result(rows, "speed") is None


def test_what_has_no_value_stands_last_either_way() -> None:
    rows = [entry(1, 0.5), entry(2), entry(3, 0.7)]
    assert numbers(sort_results(rows, PLAN, "accuracy/validation", True)) == [3, 1, 2]
    assert numbers(sort_results(rows, PLAN, "accuracy/validation", False)) == [1, 3, 2]
    assert numbers(sort_results(rows, PLAN, "seconds", False)) == [1, 2, 3]


def test_values_are_sorted_by_their_size_and_words_after_numbers() -> None:
    rows = [entry(1), entry(2), entry(3)]
    assert numbers(sort_results(rows, PLAN, "lr", False)) == [2, 1, 3]
    assert numbers(sort_results(rows, PLAN, "job", True)) == [3, 2, 1]


def test_a_metric_is_first_shown_with_its_best_on_top() -> None:
    assert is_descending_first(PLAN, "accuracy/validation")
    assert not is_descending_first(PLAN, "loss/validation")
    assert not is_descending_first(PLAN, "lr")
