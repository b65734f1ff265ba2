"""A multilayer perceptron: two hidden layers over the flattened image."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import tensorflow as tf

IMAGE_SIZE = 32


def build_mlp(channels: int, classes: int, variables: Mapping[str, Any]) -> tf.keras.Model:
    """The last layer gives one unscaled number per class."""
    from tensorflow import keras

    return keras.Sequential(
        [
            keras.layers.InputLayer((IMAGE_SIZE, IMAGE_SIZE, channels)),
            keras.layers.Flatten(),
            keras.layers.Dense(variables["hidden_units"], activation="relu"),
            keras.layers.Dropout(variables["dropout"]),
            keras.layers.Dense(variables["hidden_units"], activation="relu"),
            keras.layers.Dropout(variables["dropout"]),
            keras.layers.Dense(classes),
        ],
        name="mlp",
    )


if __name__ == "__main__":
    from .training_loop import run_training

    run_training("MLP", build_mlp, IMAGE_SIZE)
