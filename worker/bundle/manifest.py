"""The manifest of a bundle lists each file with its version, sum, licence and source. Two
manifests can be compared.
"""

import json
import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Any

from cluster.files.atomic import write_atomically
from worker.bundle.check import FORMAT, MANIFEST, BundleSentence, NotABundle, sha256_of


class BundleFileKind(StrEnum):
    DEB = "deb"
    INDEX = "index"
    IMAGE = "image"
    WHEEL = "wheel"
    FILE = "file"


@dataclass(frozen=True)
class BundleFile:
    """One file. `licence` has SPDX names if they are known; `source` is where the file was fetched or built from."""

    path: str
    kind: BundleFileKind
    name: str
    version: str
    sha256: str
    size: int
    licence: str
    source: str


@dataclass(frozen=True)
class BundleManifest:
    version: str
    """The product's version and the time of collecting, as 0.1.0+20261121T190000Z."""
    made: str
    collector: str
    systems: tuple[str, ...]
    files: tuple[BundleFile, ...]

    def size(self) -> int:
        """The bundle's size in bytes."""
        return sum(entry.size for entry in self.files)


def make_bundle_file(
    folder: Path, file: Path, kind: BundleFileKind, *, name: str, version: str, licence: str, source: str
) -> BundleFile:
    path = file.relative_to(folder).as_posix()
    return BundleFile(path, kind, name, version, sha256_of(file), file.stat().st_size, licence, source)


def make_bundle_manifest(
    product: str, now: datetime, collector: str, systems: Iterable[str], files: Iterable[BundleFile]
) -> BundleManifest:
    moment = now.astimezone(UTC)
    return BundleManifest(
        version=f"{product}+{moment:%Y%m%dT%H%M%SZ}",
        made=moment.isoformat(timespec="seconds"),
        collector=collector,
        systems=tuple(systems),
        files=tuple(sorted(files, key=lambda entry: entry.path)),
    )


def write_bundle_manifest(folder: Path, manifest: BundleManifest) -> None:
    """Writes the manifest. It is written last, so a bundle that has one is complete."""
    content = {"format": FORMAT, **asdict(manifest)}
    write_atomically(folder / MANIFEST, json.dumps(content, indent=1) + "\n", 0o644)


def parse_bundle_manifest(read: dict[str, Any]) -> BundleManifest:
    """Parse what `check.read_manifest_file` has read. Raises NotABundle for an unknown kind of file."""
    try:
        files = tuple(
            BundleFile(**{**entry, "kind": BundleFileKind(entry["kind"])}) for entry in read["files"]
        )
    except ValueError as error:
        raise NotABundle(BundleSentence("a newer version has collected it: {error}", error=error)) from error
    return BundleManifest(read["version"], read["made"], read["collector"], tuple(read["systems"]), files)


def image_file_name(reference: str) -> str:
    """A file name for an image's full reference."""
    return re.sub(r"[^A-Za-z0-9.]+", "-", reference)


Named = dict[tuple[str, str], set[tuple[str, str]]]
"""Versions with their sums, by kind and name. Two environments may contain two versions of one package."""


def list_differences(old: BundleManifest, new: BundleManifest) -> list[str]:
    """Returns a line for each difference. Things are matched by kind and name, because their file names contain
    versions.
    """
    before, after = _by_name(old), _by_name(new)
    lines = []
    for key in sorted({*before, *after}):
        gone = sorted(before.get(key, set()) - after.get(key, set()))
        come = sorted(after.get(key, set()) - before.get(key, set()))
        lines += _difference_lines(
            f"{key[0]:<6} {key[1]}", [version for version, _ in gone], [version for version, _ in come]
        )
    return lines


def _difference_lines(what: str, gone: list[str], come: list[str]) -> list[str]:
    if len(gone) == len(come) == 1:
        told = f"{gone[0]} -> {come[0]}" if gone != come else f"{gone[0]} (other content)"
        return [f"~ {what} {told}"]
    return [*(f"- {what} {version}" for version in gone), *(f"+ {what} {version}" for version in come)]


def _by_name(manifest: BundleManifest) -> Named:
    """Leaves out apt's indexes, because they contain nothing that the packages do not contain."""
    found: Named = defaultdict(set)
    for entry in manifest.files:
        if entry.kind is not BundleFileKind.INDEX:
            found[entry.kind.value, _qualified(entry, manifest)].add((entry.version, entry.sha256))
    return found


def _qualified(entry: BundleFile, manifest: BundleManifest) -> str:
    """The name with the system, because packages of two systems are different."""
    if entry.kind is BundleFileKind.DEB and len(manifest.systems) > 1:
        return f"{entry.path.split('/')[1]} {entry.name}"
    return entry.name
