"""Fetch packages with all their dependencies by apt, and write the apt index of a folder of packages.

apt works in a folder of its own, as if nothing were installed: the machine's own packages are neither looked at nor
changed, and what apt has fetched it has checked against the distribution's signatures.
"""

import gzip
import hashlib
import re
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from worker.bundle.build_cache import BuildCache, CollectingFailed
from worker.bundle.check import sha256_of

APT_CHOICE = re.compile(r"^Inst (\S+) \((\S+) (?:[^\[]*)\[(\w+)\]", re.MULTILINE)
FILES = (
    "/etc/apt/sources.list.d/debian.sources",
    "/etc/apt/sources.list.d/ubuntu.sources",
    "/etc/apt/sources.list",
)
"""Where distributions keep their own archives; vendors' repositories are in other files."""


@dataclass(frozen=True)
class FetchedPackage:
    name: str
    version: str
    path: Path


def find_distribution_sources() -> Path:
    for file in map(Path, FILES):
        if file.exists() and re.search(r"^(deb |Types:)", file.read_text(), re.MULTILINE):
            return file
    raise CollectingFailed(f"apt knows no archive of its distribution: none of {', '.join(FILES)} names one.")


def fetch_with_dependencies(
    names: Sequence[str], sources: Sequence[Path], folder: Path, shop: BuildCache
) -> list[FetchedPackage]:
    """The packages with all that they depend on; what `folder` has already is not fetched again.

    `sources` are files as apt has them, .list or .sources.
    """
    for each in ("state/lists/partial", "cache/archives/partial"):
        (folder / each).mkdir(parents=True, exist_ok=True)
    (folder / "status").touch()
    shutil.rmtree(folder / "sources", ignore_errors=True)
    (folder / "sources").mkdir()
    for file in sources:
        shutil.copyfile(file, folder / "sources" / file.name)
    apt = ["apt-get", "-q", "-y", "--no-install-recommends", *_options(folder)]
    shop.run([*apt, "update"])
    chosen = APT_CHOICE.findall(shop.run([*apt, "--simulate", "install", *names]))
    if not chosen:
        raise CollectingFailed(f"apt chose nothing for {', '.join(names)}")
    shop.report("fetching {count} packages of the distribution", count=len(chosen))
    shop.run([*apt, "--download-only", "install", *names])
    archives = folder / "cache" / "archives"
    return [
        FetchedPackage(name, version, _find(archives, name, version, kind))
        for name, version, kind in sorted(chosen)
    ]


def _find(archives: Path, name: str, version: str, kind: str) -> Path:
    """apt writes the colon of an epoch as %3a."""
    path = archives / f"{name.split(':')[0]}_{version.replace(':', '%3a')}_{kind}.deb"
    if not path.exists():
        raise CollectingFailed(f"apt has fetched no {path.name}")
    return path


def archive_file_name(file: Path) -> str:
    """As the distribution's own archive names it: without an epoch, which an address would write in its own way."""
    name, version, rest = file.name.split("_")
    return f"{name}_{version.split('%3a')[-1]}_{rest}"


def _options(folder: Path) -> list[str]:
    values = {
        "Dir::State": folder / "state",
        "Dir::State::status": folder / "status",
        "Dir::Cache": folder / "cache",
        "Dir::Etc::sourcelist": "/dev/null",
        "Dir::Etc::sourceparts": folder / "sources",
        "Dir::Etc::preferences": "/dev/null",
        "Dir::Etc::preferencesparts": "/dev/null",
        "APT::Architecture": "amd64",
        "APT::Architectures": "amd64",
        "APT::Sandbox::User": "root",
        "APT::Keep-Downloaded-Packages": "true",
        "Acquire::Retries": "3",
        "Acquire::Languages": "none",
        "Debug::NoLocking": "true",
    }
    return [f"-o{name}={value}" for name, value in values.items()]


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
