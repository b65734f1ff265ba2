"""Scans a dataset's folder: counts files and bytes, and finds out whether it holds images by class."""

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from PIL import Image

IMAGE_ENDINGS = (
    ".png", ".jpg", ".jpeg", ".bmp", ".gif", ".tif", ".tiff", ".webp", ".pgm", ".ppm",
)  # fmt: skip
FORMATS = ("PNG", "JPEG", "BMP", "GIF", "TIFF", "WEBP", "PPM")
VALIDATION_FOLDERS = ("validation", "val", "test")
SAMPLED_PER_CLASS = 20
LARGEST_IMAGE = 200_000_000
"""Pixels. A file that claims to be larger does not count as an image."""
MOST_CLASSES = 10_000


@dataclass(frozen=True)
class DatasetContents:
    """`size` is in bytes. `classes` are (label, images), or None if there is no folder per class."""

    files: int
    size: int
    classes: list[tuple[str, int]] | None


def scan_dataset(folder: Path, told: Callable[[int], None] = lambda files: None) -> DatasetContents:
    """Counts without following links. `told` is called with the number of files so far. Raises OSError."""
    files = size = 0
    for entry in walk_files(folder):
        files += 1
        size += entry.stat(follow_symlinks=False).st_size
        if files % 1000 == 0:
            told(files)
    return DatasetContents(files, size, find_classes(folder))


def walk_files(folder: str | Path) -> Iterator["os.DirEntry[str]"]:
    """Every regular file below the folder, depth first. A file that disappears in between is skipped."""
    to_visit = [str(folder)]
    while to_visit:
        with os.scandir(to_visit.pop()) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    to_visit.append(entry.path)
                elif entry.is_file(follow_symlinks=False):
                    yield entry


def find_classes(folder: Path) -> list[tuple[str, int]] | None:
    """The classes of a layout that the built-in models can read: folders of classes at the top, inside one single
    folder, or in `train` beside `validation`.

    There must be at least two classes, each with an image that can be opened.
    """
    top = inside_single_folder(folder)
    if (top / "train").is_dir() and any((top / name).is_dir() for name in VALIDATION_FOLDERS):
        own_split = next(name for name in VALIDATION_FOLDERS if (top / name).is_dir())
        counts: dict[str, int] = {}
        for part in ("train", own_split):
            for label, count in count_images(top / part):
                counts[label] = counts.get(label, 0) + count
        classes = sorted(counts.items())
    else:
        classes = count_images(top)
    return classes if 2 <= len(classes) <= MOST_CLASSES else None


def inside_single_folder(folder: Path) -> Path:
    while True:
        inside = subfolders(folder)
        if len(inside) != 1 or any(is_image_name(each.name) for each in inside[0].iterdir()):
            return folder
        folder = inside[0]


def subfolders(folder: Path) -> list[Path]:
    with os.scandir(folder) as entries:
        found = [e.name for e in entries if e.is_dir(follow_symlinks=False) and not e.name.startswith(".")]
    return [folder / name for name in sorted(found)]


def count_images(folder: Path) -> list[tuple[str, int]]:
    counted = []
    for inside in subfolders(folder):
        images = [entry.path for entry in walk_files(inside) if is_image_name(entry.name)]
        if any(is_image(path) for path in sorted(images)[:SAMPLED_PER_CLASS]):
            counted.append((inside.name, len(images)))
    return counted


def is_image_name(name: str) -> bool:
    return name.lower().endswith(IMAGE_ENDINGS) and not name.startswith(".")


def is_image(path: str) -> bool:
    """Checks only the header and decodes nothing, because the file is untrusted."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        with os.fdopen(descriptor, "rb") as file, Image.open(file, formats=FORMATS) as image:
            return 0 < image.width * image.height <= LARGEST_IMAGE
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError):
        return False
