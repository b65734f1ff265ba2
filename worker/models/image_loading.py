"""Reads the images of a dataset into memory, all at the model's size and number of channels."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
from PIL import Image

from .image_classes import UNREADABLE, LabelledImage


def read_images(
    examples: list[LabelledImage], size: int, channels: int
) -> tuple[np.ndarray, np.ndarray, list[Path]]:
    """Pixels (count, size, size, channels) as bytes, labels (count,), and the files that are no images."""

    def read(example: LabelledImage) -> np.ndarray | None:
        try:
            with Image.open(example.path) as image:
                return _pixels(image, size, channels)
        except UNREADABLE:
            return None

    # Pillow releases the GIL while it decodes.
    with ThreadPoolExecutor(max_workers=4) as pool:
        arrays = list(pool.map(read, examples))
    broken = [example.path for example, array in zip(examples, arrays, strict=True) if array is None]
    kept = [
        (array, example.label) for array, example in zip(arrays, examples, strict=True) if array is not None
    ]
    pixels = np.zeros((len(kept), size, size, channels), np.uint8)
    for index, (array, _) in enumerate(kept):
        pixels[index] = array
    return pixels, np.array([label for _, label in kept], np.int32), broken


def _pixels(image: Image.Image, size: int, channels: int) -> np.ndarray:
    if image.mode.startswith("I"):
        # Pillow would clip 16-bit grey at 255 instead of scaling it.
        image = Image.fromarray((np.asarray(image) >> 8).astype(np.uint8))
    image = image.convert("L" if channels == 1 else "RGB")
    if image.size != (size, size):
        image = image.resize((size, size), Image.Resampling.BILINEAR)
    return np.asarray(image, np.uint8).reshape(size, size, channels)
