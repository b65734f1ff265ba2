"""A small bundle for tests."""

import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path

from worker.bundle.check import this_system
from worker.bundle.manifest import (
    BundleFileKind,
    BundleManifest,
    make_bundle_file,
    make_bundle_manifest,
    write_bundle_manifest,
)
from worker.bundle.signing import sign_bundle

SCRATCH = tempfile.TemporaryDirectory(prefix="bundle-signer-")
SITE_KEY = Path(SCRATCH.name, "site-key")
"""One key for all bundles of a test process."""
BEGIN = datetime(2026, 11, 21, 19, 0, tzinfo=UTC)


def a_bundle(folder: Path, files: dict[str, str], later: int = 0, system: str = "") -> BundleManifest:
    """Holds these files; the first part of each name is its version. `later` are minutes."""
    entries = []
    for path, content in files.items():
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content)
        name, _, version = file.stem.partition("_")
        kind = BundleFileKind.DEB if file.suffix == ".deb" else BundleFileKind.FILE
        entries.append(
            make_bundle_file(folder, file, kind, name=name, version=version, licence="MIT", source="a test")
        )
    moment = BEGIN + timedelta(minutes=later)
    manifest = make_bundle_manifest("0.1.0", moment, "build", [system or this_system()], entries)
    write_bundle_manifest(folder, manifest)
    sign_bundle(folder, SITE_KEY)
    return manifest
