"""Which columns a comparison has, in which order its rows stand, and which one wins."""

from cluster.domain.compare import Entry, best_entry, first_direction, metrics_of, sort_entries
from cluster.domain.states import JobState
from cluster.domain.sweeps import SweepKind, SweepPlan

PLAN = SweepPlan(SweepKind.GRID, {"lr": ("0.1", "1e-2", "fast"), "batch": (32,)})


def entry(number: int, accuracy: float | None = None, seconds: float | None = None, **more: float) -> Entry:
    results = {name: (value, value, value) for name, value in more.items()}
    if accuracy is not None:
        results["accuracy/validation"] = (0.0, accuracy, 0.1)
    return Entry(number, 100 + number, JobState.FINISHED, results, seconds)


def numbers(entries: list[Entry]) -> list[int]:
    return [each.number for each in entries]


def test_people_compare_by_validation_first_and_not_by_what_was_chosen() -> None:
    rows = [entry(1, 0.5, learning_rate=0.1, speed=3), entry(2, loss=1), Entry(3, 3, JobState.WAITING, {})]
    assert metrics_of(rows) == ["accuracy/validation", "loss", "speed"]


def test_the_best_accuracy_is_the_highest_and_the_best_loss_the_lowest() -> None:
    rows = [entry(1, 0.5, loss=2), entry(2, 0.7, loss=3), entry(3, 0.7, loss=1), entry(4)]
    assert best_entry(rows, "accuracy/validation") is rows[1]
    assert best_entry(rows, "loss") is rows[2]
    assert best_entry(rows, "speed") is None


def test_what_has_no_value_stands_last_either_way() -> None:
    rows = [entry(1, 0.5), entry(2), entry(3, 0.7)]
    assert numbers(sort_entries(rows, PLAN, "accuracy/validation", True)) == [3, 1, 2]
    assert numbers(sort_entries(rows, PLAN, "accuracy/validation", False)) == [1, 3, 2]
    assert numbers(sort_entries(rows, PLAN, "seconds", False)) == [1, 2, 3]


def test_values_are_sorted_by_their_size_and_words_after_numbers() -> None:
    rows = [entry(1), entry(2), entry(3)]
    assert numbers(sort_entries(rows, PLAN, "lr", False)) == [2, 1, 3]
    assert numbers(sort_entries(rows, PLAN, "job", True)) == [3, 2, 1]


def test_a_metric_is_first_shown_with_its_best_on_top() -> None:
    assert first_direction(PLAN, "accuracy/validation")
    assert not first_direction(PLAN, "loss/validation")
    assert not first_direction(PLAN, "lr")
