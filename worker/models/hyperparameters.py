"""The hyperparameters of a built-in model, parsed from the job's variables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any


@dataclass(frozen=True)
class Hyperparameters:
    """The values for the training loop. The platform has checked them and has filled in the defaults."""

    epochs: int
    batch_size: int
    """Images per step on each unit."""
    learning_rate: float
    """The learning rate, which does not depend on the number of units."""
    schedule: str
    """`constant`, or `cosine`, which falls to zero over the whole training."""
    optimizer: str
    momentum: float
    dropout: float
    seed: int

    @classmethod
    def of(cls, variables: Mapping[str, Any]) -> Hyperparameters:
        """Takes the loop's values out of all variables. The others belong to the model itself."""
        missing = [field.name for field in fields(cls) if field.name not in variables]
        if missing:
            raise SystemExit(f"Variables are missing: {', '.join(missing)}.")
        return cls(**{field.name: variables[field.name] for field in fields(cls)})
