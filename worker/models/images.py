"""Reads a data set of images, one folder per class, and splits it for training and validation.

Three layouts are understood: folders of classes at the top, the same inside one single folder (an
archive of a folder unpacks so), and `train` beside `validation` (or `val`, `test`) with the classes in
each, where the split is the user's own.
"""

from __future__ import annotations

import random
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image

ENDINGS = frozenset({".png", ".jpg", ".jpeg", ".bmp", ".gif", ".tif", ".tiff", ".webp", ".pgm", ".ppm"})
VALIDATION_FOLDERS = ("validation", "val", "test")
VALIDATION_SHARE = 0.2
# The same for every job, whatever its seed: results on one data set can be compared.
SPLIT_SEED = 20
COLOUR_SAMPLE = 64


class NoImages(Exception):
    """The data set is not a folder of images per class."""


@dataclass(frozen=True)
class Example:
    path: Path
    label: int


@dataclass(frozen=True)
class Listing:
    """All images of a data set by path, before any is read; the same on every rank."""

    classes: tuple[str, ...]
    training: tuple[Example, ...]
    validation: tuple[Example, ...]
    channels: int
    """1 for grey, 3 for RGB."""


def list_images(folder: Path) -> Listing:
    """Raises NoImages with a sentence for the user where the folder holds no two classes with images."""
    folder = _inside_single_folder(folder)
    own_split = next((name for name in VALIDATION_FOLDERS if (folder / name).is_dir()), None)
    if (folder / "train").is_dir() and own_split:
        images = _images_by_class(folder / "train")
        classes = list(images)
        training = _examples(classes, images)
        validation = _examples(classes, _images_by_class(folder / own_split))
    else:
        images = _images_by_class(folder)
        classes = list(images)
        training, validation = split(_examples(classes, images))
    if len(classes) < 2 or not training or not validation:
        raise NoImages(
            f"The data set needs at least two folders, one per class, with two or more images in each; "
            f"found {len(classes)} with images in them."
        )
    return Listing(tuple(classes), tuple(training), tuple(validation), _channels(training))


def split(examples: list[Example], share: float = VALIDATION_SHARE) -> tuple[list[Example], list[Example]]:
    """Training and validation with the same share of every class in both; the same names, the same split."""
    generator = random.Random(SPLIT_SEED)
    training: list[Example] = []
    validation: list[Example] = []
    for label in sorted({example.label for example in examples}):
        of_class = [example for example in examples if example.label == label]
        generator.shuffle(of_class)
        count = min(max(1, round(len(of_class) * share)), len(of_class) - 1)
        validation += of_class[:count]
        training += of_class[count:]
    return training, validation


def read_images(
    examples: list[Example], size: int, channels: int
) -> tuple[np.ndarray, np.ndarray, list[Path]]:
    """Pixels (count, size, size, channels) as bytes, labels (count,), and the files that are no image."""

    def read(example: Example) -> np.ndarray | None:
        try:
            with Image.open(example.path) as image:
                return _pixels(image, size, channels)
        except (OSError, ValueError, SyntaxError, Image.DecompressionBombError):
            return None

    # Pillow lets other threads run while it decodes.
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
    if image.mode.startswith("I;16"):
        # Pillow would cut 16-bit grey off at 255 instead of scaling it.
        image = Image.fromarray((np.asarray(image) >> 8).astype(np.uint8))
    image = image.convert("L" if channels == 1 else "RGB")
    if image.size != (size, size):
        image = image.resize((size, size), Image.Resampling.BILINEAR)
    return np.asarray(image, np.uint8).reshape(size, size, channels)


def _inside_single_folder(folder: Path) -> Path:
    while True:
        inside = _folders(folder)
        if len(inside) != 1 or any(_is_image(entry) for entry in inside[0].iterdir()):
            return folder
        folder = inside[0]


def _images_by_class(folder: Path) -> dict[str, list[Path]]:
    found = {inside.name: _images(inside) for inside in _folders(folder)}
    return {name: images for name, images in found.items() if images}


def _examples(classes: list[str], images: dict[str, list[Path]]) -> list[Example]:
    return [Example(path, label) for label, name in enumerate(classes) for path in images.get(name, [])]


def _folders(folder: Path) -> list[Path]:
    return sorted(entry for entry in folder.iterdir() if entry.is_dir() and not entry.name.startswith("."))


def _images(folder: Path) -> list[Path]:
    """All images anywhere below a class's folder, in a fixed order."""
    return sorted(path for path in folder.rglob("*") if _is_image(path))


def _is_image(path: Path) -> bool:
    return path.suffix.lower() in ENDINGS and not path.name.startswith(".")


def _channels(examples: list[Example]) -> int:
    """Grey only where every image of an evenly spaced sample is grey."""
    every = max(1, len(examples) // COLOUR_SAMPLE)
    for example in examples[::every]:
        try:
            with Image.open(example.path) as image:
                if image.mode not in ("1", "L", "LA") and not image.mode.startswith("I"):
                    return 3
        except (OSError, ValueError, SyntaxError, Image.DecompressionBombError):
            continue
    return 1
