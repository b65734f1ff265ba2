"""The training loop takes its own part of a job's variables."""

import pytest

from worker.models.hyperparameters import Hyperparameters

VARIABLES = {
    "epochs": 3,
    "batch_size": 32,
    "learning_rate": 0.01,
    "schedule": "cosine",
    "optimizer": "sgd",
    "momentum": 0.9,
    "dropout": 0.5,
    "seed": 7,
}


def test_what_belongs_to_the_model_is_left_out() -> None:
    assert Hyperparameters.of(VARIABLES | {"hidden_units": 64}) == Hyperparameters(
        3, 32, 0.01, "cosine", "sgd", 0.9, 0.5, 7
    )


def test_missing_variables_are_named_and_end_the_program() -> None:
    some = {name: value for name, value in VARIABLES.items() if name not in ("seed", "epochs")}
    with pytest.raises(SystemExit, match=r"Variables are missing: epochs, seed\."):
        Hyperparameters.of(some)
