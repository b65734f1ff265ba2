"""A small bundle for tests."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

from worker.bundle.check import this_system
from worker.bundle.manifest import Kind, Manifest, entry_of, new_manifest, write_manifest

BEGIN = datetime(2026, 11, 21, 19, 0, tzinfo=UTC)


def a_bundle(folder: Path, files: dict[str, str], later: int = 0, system: str = "") -> Manifest:
    """Holds these files; the first part of each name is its version. `later` are minutes."""
    entries = []
    for path, content in files.items():
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content)
        name, _, version = file.stem.partition("_")
        kind = Kind.DEB if file.suffix == ".deb" else Kind.FILE
        entries.append(
            entry_of(folder, file, kind, name=name, version=version, licence="MIT", source="a test")
        )
    moment = BEGIN + timedelta(minutes=later)
    manifest = new_manifest("0.1.0", moment, "build", [system or this_system()], entries)
    write_manifest(folder, manifest)
    return manifest
