"""The parameters of jobs are compared with those of the same training."""

import pytest

from cluster.domain.jobs.parameters import ComparedJob, differing_parameters, job_parameters


@pytest.mark.parametrize(
    ("command", "parameters"),
    [
        ((), {}),
        (("train.py",), {"script": "train.py"}),
        (("train.py", "--lr", "0.1", "-b", "64"), {"script": "train.py", "lr": "0.1", "b": "64"}),
        (("train.py", "--lr=0.1", "batch=64"), {"script": "train.py", "lr": "0.1", "batch": "64"}),
        (("train.py", "--shift", "-0.5"), {"script": "train.py", "shift": "-0.5"}),
        (("train.py", "--fast", "--lr", "1"), {"script": "train.py", "fast": "on", "lr": "1"}),
        (("train.py", "big", "small"), {"script": "train.py", "argument 1": "big", "argument 2": "small"}),
    ],
)
def test_arguments_are_parameters_by_name(command: tuple[str, ...], parameters: dict[str, str]) -> None:
    assert job_parameters({}, command) == parameters


def test_variables_of_a_model_are_parameters() -> None:
    assert job_parameters({"epochs": 3, "optimizer": "sgd"}, ()) == {"epochs": "3", "optimizer": "sgd"}


def test_only_what_differs_within_a_training_is_shown() -> None:
    found = differing_parameters(
        [
            ComparedJob(1, "lenet", {"lr": "0.1", "batch": "64"}),
            ComparedJob(2, "lenet", {"lr": "0.2", "batch": "64"}),
            ComparedJob(3, "lenet", {"batch": "64"}),
            ComparedJob(4, "other", {"lr": "0.9"}),
        ]
    )
    assert found == {1: {"lr": "0.1"}, 2: {"lr": "0.2"}, 3: {}, 4: {}}
