"""The index of a folder of packages, as apt reads it."""

import gzip
import hashlib
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from worker.bundle.build_cache import BuildCache
from worker.bundle.check import sha256_of


def write_apt_index(folder: Path, system: str, moment: datetime, shop: BuildCache) -> list[Path]:
    """Packages, Packages.gz and Release of a flat repository; apt takes a package only with its sum from here."""
    paragraphs = [package_paragraph(file, shop) for file in sorted(folder.glob("*.deb"))]
    content = "\n".join(paragraphs).encode()
    (folder / "Packages").write_bytes(content)
    (folder / "Packages.gz").write_bytes(gzip.compress(content, mtime=0))
    listed = [folder / "Packages", folder / "Packages.gz"]
    (folder / "Release").write_text(_release(system, moment, listed))
    return [*listed, folder / "Release"]


def package_paragraph(file: Path, shop: BuildCache) -> str:
    control = shop.run(["dpkg-deb", "--field", file]).rstrip("\n")
    return f"{control}\nFilename: ./{file.name}\nSize: {file.stat().st_size}\nSHA256: {sha256_of(file)}\n"


def _release(system: str, moment: datetime, files: Sequence[Path]) -> str:
    lines = [
        "Origin: Groundcrew",
        "Label: Groundcrew bundle",
        f"Suite: {system}",
        f"Codename: {system}",
        "Architectures: amd64",
        f"Date: {moment.astimezone(UTC):%a, %d %b %Y %H:%M:%S} UTC",
        "SHA256:",
    ]
    for file in files:
        content = file.read_bytes()
        lines.append(f" {hashlib.sha256(content).hexdigest()} {len(content)} {file.name}")
    return "\n".join(lines) + "\n"
