"""LeNet-5 with today's activations: two convolutions and three dense layers on images of 32x32."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import tensorflow as tf

IMAGE_SIZE = 32


def build_lenet(channels: int, classes: int, variables: Mapping[str, Any]) -> tf.keras.Model:
    """The last layer gives one unscaled number per class."""
    from tensorflow import keras

    return keras.Sequential(
        [
            keras.layers.InputLayer((IMAGE_SIZE, IMAGE_SIZE, channels)),
            keras.layers.Conv2D(6, 5, activation="relu"),
            keras.layers.MaxPooling2D(),
            keras.layers.Conv2D(16, 5, activation="relu"),
            keras.layers.MaxPooling2D(),
            keras.layers.Flatten(),
            keras.layers.Dense(120, activation="relu"),
            keras.layers.Dense(84, activation="relu"),
            keras.layers.Dropout(variables["dropout"]),
            keras.layers.Dense(classes),
        ],
        name="lenet",
    )


if __name__ == "__main__":
    from .training_loop import run_training

    run_training("LeNet", build_lenet, IMAGE_SIZE)
