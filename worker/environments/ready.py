"""What stands in a finished environment: whether it is whole, what it holds, what its programs need."""

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from cluster.domain.images import Part
from cluster.files.beneath import read_small
from worker.environments.wheels import write_whole

MANIFEST = "groundcrew.json"
LARGEST = 4 * 1024**2
"""Bytes. On servers the cache belongs to a service, and root reads this."""


@dataclass(frozen=True)
class Manifest:
    """Written last: where it stands, everything else does."""

    digest: str
    variables: Mapping[str, str]
    contents: tuple[Part, ...]


def write_manifest(environment: Path, manifest: Manifest) -> None:
    write_whole(environment / MANIFEST, json.dumps(asdict(manifest), indent=1, sort_keys=True).encode())
    (environment / MANIFEST).chmod(0o644)


def read_manifest(environment: Path) -> Manifest | None:
    """None where the environment is not there, not finished, or not readable."""
    try:
        read = json.loads(read_small(environment, MANIFEST, limit=LARGEST) or b"")
        contents = tuple(Part(**part) for part in read["contents"])
        return Manifest(read["digest"], read["variables"], contents)
    except (OSError, ValueError, KeyError, TypeError):
        return None


def is_ready(environment: Path) -> bool:
    """Whole, in its own place, and its interpreter (the distribution's) is still on the machine."""
    manifest = read_manifest(environment)
    if manifest is None or environment.name != f"training-{manifest.digest}":
        return False
    return os.access(environment / "bin" / "python", os.X_OK)


def read_contents(environment: Path) -> list[tuple[str, str, str]]:
    """(library, version, purpose) of the libraries worth a line, as they are really installed."""
    manifest = read_manifest(environment)
    if manifest is None:
        return []
    return [part.line for part in manifest.contents]


def read_variables(environment: Path) -> dict[str, str]:
    """What every program that runs in the environment must have among its environment variables."""
    manifest = read_manifest(environment)
    return dict(manifest.variables) if manifest else {}
