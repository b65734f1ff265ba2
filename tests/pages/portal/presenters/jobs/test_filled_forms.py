"""A form is filled in from a sweep, or from a job that is to run longer."""

import pytest

from cluster.domain.sweeps.plan import split_values
from portal.presenters.jobs import filled_forms


@pytest.mark.parametrize("texts", [["0.1", "0.2"], ["a,b", "c"], ['say "x"', " y"]])
def test_values_are_written_as_they_are_read(texts: list[str]) -> None:
    assert list(split_values("name", filled_forms.join_values(texts))) == [text.strip() for text in texts]


@pytest.mark.parametrize(
    ("values", "longer"),
    [
        ({"name": "a", "variables.epochs": "3"}, {"name": "a-longer", "variables.epochs": "9"}),
        (
            {"name": "a", "arguments": "--epochs 3 --lr 3"},
            {"name": "a-longer", "arguments": "--epochs 9 --lr 3"},
        ),
        ({"name": "a", "arguments": "--num-epochs=10"}, {"name": "a-longer", "arguments": "--num-epochs=30"}),
        ({"name": "a", "arguments": "--lr 0.1"}, {"name": "a-longer", "arguments": "--lr 0.1"}),
    ],
)
def test_a_longer_job_has_more_epochs(values: dict[str, str], longer: dict[str, str]) -> None:
    assert filled_forms.make_longer(values, 3) == longer
