"""A loss that became NaN is a diverged training; other metrics are none."""

import pytest

from cluster.domain.jobs.divergence import diverged_loss, is_loss
from worker.inside import shim_metrics

NAMES = {
    "loss": True,
    "loss/train": True,
    "val_loss": True,
    "train/Loss": True,
    "loss.total": True,
    "glossary": False,
    "accuracy/validation": False,
    "lossless": False,
}


@pytest.mark.parametrize(("name", "expected"), NAMES.items())
def test_a_loss_is_known_by_its_name_here_and_in_the_shim(name: str, expected: bool) -> None:
    assert is_loss(name) is shim_metrics.is_loss(name) is expected


@pytest.mark.parametrize(
    ("not_finite", "expected"),
    [
        ({}, None),
        ({"loss/train": 0}, None),
        ({"f1": 3, "loss/train": 0, "val_loss": 1}, "val_loss"),
        ({"gradient/norm": 9}, None),
    ],
)
def test_the_first_loss_with_a_value_that_is_not_finite_counts(
    not_finite: dict[str, int], expected: str | None
) -> None:
    assert diverged_loss(not_finite) == expected
