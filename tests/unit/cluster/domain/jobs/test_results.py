"""One of a job's numbers counts when jobs are compared."""

import math
from typing import Any

import pytest

from cluster.domain.jobs.metric_names import is_lower_better
from cluster.domain.jobs.results import best_value, parse_results


@pytest.mark.parametrize(
    ("metric", "is_low"),
    [
        ("loss/validation", True),
        ("val_loss", True),
        ("error", True),
        ("accuracy/validation", False),
        ("images_per_second", False),
        ("blossom", False),
    ],
)
def test_a_loss_is_best_at_its_lowest(metric: str, is_low: bool) -> None:
    assert is_lower_better(metric) is is_low
    assert best_value({metric: (1.0, 3.0, 2.0)}, metric) == (1.0 if is_low else 3.0)


def test_what_was_not_measured_has_no_best_value() -> None:
    assert best_value({}, "loss/train") is None


def test_a_table_of_three_numbers_each_is_read() -> None:
    assert parse_results({"loss": [1, 2.5, 2]}) == {"loss": (1.0, 2.5, 2.0)}


@pytest.mark.parametrize(
    "found",
    [
        [],
        {"loss": 1},
        {"loss": [1, 2]},
        {"loss": [1, 2, "3"]},
        {"loss": [1, 2, True]},
        {"loss": [1, 2, math.inf]},
        {"loss": [1, 2, math.nan]},
        {"": [1, 2, 3]},
        {"a\nb": [1, 2, 3]},
        {"x" * 101: [1, 2, 3]},
        {f"m{number}": [1, 2, 3] for number in range(65)},
    ],
)
def test_anything_else_is_refused(found: Any) -> None:
    with pytest.raises((TypeError, ValueError)):
        parse_results(found)
