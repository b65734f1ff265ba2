"""The manifest inside a finished environment: its digest, its libraries and its environment variables."""

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from cluster.domain.images import LibraryVersion
from cluster.files.atomic import write_atomically
from cluster.files.safe_read import read_small_file

MANIFEST = "groundcrew.json"
LARGEST = 4 * 1024**2
"""Bytes. On servers the cache belongs to a service user, and root reads this file."""


@dataclass(frozen=True)
class EnvironmentManifest:
    """The manifest is written last, so an environment that has one is complete."""

    digest: str
    variables: Mapping[str, str]
    contents: tuple[LibraryVersion, ...]


def write_environment_manifest(environment: Path, manifest: EnvironmentManifest) -> None:
    write_atomically(environment / MANIFEST, json.dumps(asdict(manifest), indent=1, sort_keys=True), 0o644)


def read_environment_manifest(environment: Path) -> EnvironmentManifest | None:
    """Returns None if the environment does not exist, is not finished, or cannot be read."""
    try:
        read = json.loads(read_small_file(environment, MANIFEST, limit=LARGEST) or b"")
        contents = tuple(LibraryVersion(**part) for part in read["contents"])
        variables = {str(name): str(value) for name, value in read["variables"].items()}
        return EnvironmentManifest(str(read["digest"]), variables, contents)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


def is_environment_ready(environment: Path) -> bool:
    """Whether the environment is complete, is at its own path, and its interpreter is still on the machine."""
    manifest = read_environment_manifest(environment)
    if manifest is None or environment.name != f"training-{manifest.digest}":
        return False
    return os.access(environment / "bin" / "python", os.X_OK)


def read_environment_contents(environment: Path) -> list[tuple[str, str, str]]:
    """The library, installed version and purpose of each library that the table of contents shows."""
    manifest = read_environment_manifest(environment)
    if manifest is None:
        return []
    return [part.line for part in manifest.contents]


def read_environment_variables(environment: Path) -> dict[str, str]:
    """The environment variables that every program in the environment must have."""
    manifest = read_environment_manifest(environment)
    return dict(manifest.variables) if manifest else {}
