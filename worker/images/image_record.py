"""Write and read the JSON record beside an image archive, which the portal shows."""

import json
from pathlib import Path

from cluster.domain.images import DefaultImage, parse_default_image
from cluster.files.atomic import write_atomically


def image_record_path(archive: Path) -> Path:
    return archive.with_suffix(".json")


def write_image_record(archive: Path, image: DefaultImage) -> None:
    write_atomically(image_record_path(archive), json.dumps(image.to_data(), indent=1, sort_keys=True), 0o644)


def read_image_record(archive: Path) -> DefaultImage | None:
    """Returns None if there is no archive or it is not finished. The record is written after the archive."""
    try:
        image = parse_default_image(json.loads(image_record_path(archive).read_text()))
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return image if archive.is_file() else None
