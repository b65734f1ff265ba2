"""Finds the images of a dataset, one folder per class, and splits them into training and validation.

Three layouts are understood: folders of classes at the top, the same inside one single folder (the result of
unpacking an archive of a folder), and `train` beside `validation` (or `val`, `test`) with the classes in each, which
is then the split.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from pathlib import Path

from PIL import Image

# The errors of Pillow for a file that is no image, is cut off, or is a decompression bomb.
UNREADABLE = (OSError, ValueError, SyntaxError, Image.DecompressionBombError)
ENDINGS = frozenset({".png", ".jpg", ".jpeg", ".bmp", ".gif", ".tif", ".tiff", ".webp", ".pgm", ".ppm"})
VALIDATION_FOLDERS = ("validation", "val", "test")
VALIDATION_SHARE = 0.2
# The seed does not depend on the job's seed, so that results on one dataset can be compared.
SPLIT_SEED = 20
COLOUR_SAMPLE = 64


class NoImages(Exception):
    """The dataset has no folder of images per class."""


@dataclass(frozen=True)
class LabelledImage:
    path: Path
    label: int


@dataclass(frozen=True)
class ImageListing:
    """All images of a dataset by path, before any is read. The listing is the same on every rank."""

    classes: tuple[str, ...]
    training: tuple[LabelledImage, ...]
    validation: tuple[LabelledImage, ...]
    channels: int
    """1 for grey, 3 for RGB."""


def list_class_images(folder: Path) -> ImageListing:
    """Raises NoImages, with a sentence for the user, if the folder has no two classes with images."""
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
        training, validation = split_examples(_examples(classes, images))
    if len(classes) < 2 or not training or not validation:
        raise NoImages(
            f"The data set needs at least two folders, one per class, with two or more images in each; "
            f"found {len(classes)} with images in them."
        )
    return ImageListing(tuple(classes), tuple(training), tuple(validation), _channels(training))


def split_examples(
    examples: list[LabelledImage], share: float = VALIDATION_SHARE
) -> tuple[list[LabelledImage], list[LabelledImage]]:
    """Splits each class by the same share. The same names give the same split."""
    generator = random.Random(SPLIT_SEED)
    by_label: dict[int, list[LabelledImage]] = {}
    for example in examples:
        by_label.setdefault(example.label, []).append(example)
    training: list[LabelledImage] = []
    validation: list[LabelledImage] = []
    for _, of_class in sorted(by_label.items()):
        generator.shuffle(of_class)
        count = min(max(1, round(len(of_class) * share)), len(of_class) - 1)
        validation += of_class[:count]
        training += of_class[count:]
    return training, validation


def _inside_single_folder(folder: Path) -> Path:
    while True:
        inside = _folders(folder)
        if len(inside) != 1 or any(_is_image(entry) for entry in inside[0].iterdir()):
            return folder
        folder = inside[0]


def _images_by_class(folder: Path) -> dict[str, list[Path]]:
    found = {inside.name: _images(inside) for inside in _folders(folder)}
    return {name: images for name, images in found.items() if images}


def _examples(classes: list[str], images: dict[str, list[Path]]) -> list[LabelledImage]:
    return [LabelledImage(path, label) for label, name in enumerate(classes) for path in images.get(name, [])]


def _folders(folder: Path) -> list[Path]:
    return sorted(entry for entry in folder.iterdir() if entry.is_dir() and not entry.name.startswith("."))


def _images(folder: Path) -> list[Path]:
    """All images below a class's folder, in a fixed order."""
    return sorted(path for path in folder.rglob("*") if _is_image(path))


def _is_image(path: Path) -> bool:
    return path.suffix.lower() in ENDINGS and not path.name.startswith(".")


def _channels(examples: list[LabelledImage]) -> int:
    """1 if every image of an evenly spaced sample is grey, else 3."""
    every = max(1, len(examples) // COLOUR_SAMPLE)
    for example in examples[::every]:
        try:
            with Image.open(example.path) as image:
                if image.mode not in ("1", "L", "LA") and not image.mode.startswith("I"):
                    return 3
        except UNREADABLE:
            continue
    return 1
