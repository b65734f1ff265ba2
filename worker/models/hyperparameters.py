"""The hyperparameters of a built-in model, parsed from the job's variables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any


@dataclass(frozen=True)
class Hyperparameters:
    """What the training loop reads; the platform has checked every value and filled in the defaults."""

    epochs: int
    batch_size: int
    """Images per step on each unit."""
    learning_rate: float
    """Used as given, however many units there are."""
    schedule: str
    """`constant`, or `cosine`: falls to zero over the whole training."""
    optimizer: str
    momentum: float
    dropout: float
    seed: int

    @classmethod
    def of(cls, variables: Mapping[str, Any]) -> Hyperparameters:
        """The loop's part of all variables; what is left belongs to the model itself."""
        missing = [field.name for field in fields(cls) if field.name not in variables]
        if missing:
            raise SystemExit(f"Variables are missing: {', '.join(missing)}.")
        return cls(**{field.name: variables[field.name] for field in fields(cls)})
