"""Hashes of packages in folders, for pins that uv has written without any.

uv hashes a file of a folder only when it opens it to read what the package needs, which it does not with `--no-deps`.
"""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from packaging.utils import (
    InvalidSdistFilename,
    InvalidWheelFilename,
    canonicalize_name,
    parse_sdist_filename,
    parse_wheel_filename,
)
from packaging.version import InvalidVersion, Version

from worker.environments.wheels import sha256_of_file

PIN = re.compile(r"([A-Za-z0-9][A-Za-z0-9._-]*)(?:\[[^\]]*\])?==([^\s;\\]+)[^\\]*")


def add_folder_hashes(pins: str, folders: Sequence[Path]) -> str:
    """Adds hashes to pins. Those that have hashes, and those that no folder has, stay as they are."""
    return "".join(f"{line}{hashes_of(line, folders)}\n" for line in pins.splitlines())


def hashes_of(line: str, folders: Sequence[Path]) -> str:
    pin = PIN.fullmatch(line)
    if pin is None:
        return ""
    sums = {sha256_of_file(file) for folder in folders for file in find_files(folder, pin[1], pin[2])}
    return "".join(f" \\\n    --hash=sha256:{each}" for each in sorted(sums))


def find_files(folder: Path, name: str, version: str) -> Iterator[Path]:
    """The wheels and source packages of one version."""
    for file in folder.iterdir():
        try:
            if file.suffix == ".whl":
                found, number, _, _ = parse_wheel_filename(file.name)
            else:
                found, number = parse_sdist_filename(file.name)
            if (found, number) == (canonicalize_name(name), Version(version)) and file.is_file():
                yield file
        except (InvalidWheelFilename, InvalidSdistFilename, InvalidVersion):
            continue
