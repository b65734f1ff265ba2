"""Fetch packages with all their dependencies by apt, and write the apt index of a folder of packages.

apt works in a folder of its own, as if nothing were installed, so the machine's own packages have no effect and do
not change. apt checks what it fetches against the distribution's signatures.
"""

import gzip
import hashlib
import re
import shutil
from collections.abc import Mapping, Sequence
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
"""The files in which distributions list their own archives. The repositories of vendors are in other files."""
DOWNLOADING = {"APT::Keep-Downloaded-Packages": "true", "Acquire::Retries": "3"}


@dataclass(frozen=True)
class FetchedPackage:
    name: str
    version: str
    path: Path


def find_distribution_sources() -> Path:
    for file in map(Path, FILES):
        if file.exists() and re.search(r"^(deb |Types:)", file.read_text(), re.MULTILINE):
            return file
    raise CollectingFailed(
        "apt knows no archive of its distribution: none of {files} names one.", files=", ".join(FILES)
    )


def add_components(text: str, components: Sequence[str]) -> str:
    """An archive's lines for apt, of either form, with more components beside main.

    >>> add_components("Suites: bookworm\\nComponents: main\\n", ["contrib"])
    'Suites: bookworm\\nComponents: main contrib\\n'
    """

    def added(line: re.Match[str]) -> str:
        more = [each for each in components if each not in line[0].split()]
        return " ".join([line[0].rstrip(), *more])

    return re.sub(r"^(?:Components:|deb ).*\bmain\b.*$", added, text, flags=re.MULTILINE)


def fetch_with_dependencies(
    names: Sequence[str],
    sources: Sequence[Path],
    folder: Path,
    build_cache: BuildCache,
    preferences: str = "",
) -> list[FetchedPackage]:
    """Fetches the packages and all their dependencies, except files that `folder` has already.

    `sources` are files as apt has them, .list or .sources; `preferences` is text as apt has it.
    """
    for each in ("state/lists/partial", "cache/archives/partial"):
        (folder / each).mkdir(parents=True, exist_ok=True)
    (folder / "status").touch()
    (folder / "preferences").write_text(preferences)
    shutil.rmtree(folder / "sources", ignore_errors=True)
    (folder / "sources").mkdir()
    for file in sources:
        shutil.copyfile(file, folder / "sources" / file.name)
    apt = [
        "apt-get",
        "-q",
        "-y",
        "--no-install-recommends",
        *format_options(DOWNLOADING | private_apt_values(folder)),
    ]
    build_cache.run([*apt, "update"])
    chosen = APT_CHOICE.findall(build_cache.run([*apt, "--simulate", "install", *names]))
    if not chosen:
        raise CollectingFailed("apt chose nothing for {names}", names=", ".join(names))
    build_cache.print_progress("fetching {count} packages of the distribution", count=len(chosen))
    build_cache.run([*apt, "--download-only", "install", *names])
    archives = folder / "cache" / "archives"
    return [
        FetchedPackage(name, version, _find(archives, name, version, kind))
        for name, version, kind in sorted(chosen)
    ]


def _find(archives: Path, name: str, version: str, kind: str) -> Path:
    """Finds a package's file; apt writes the colon of an epoch as %3a."""
    path = archives / f"{name.split(':')[0]}_{version.replace(':', '%3a')}_{kind}.deb"
    if not path.exists():
        raise CollectingFailed("apt has fetched no {name}", name=path.name)
    return path


def archive_file_name(file: Path) -> str:
    """The file name without the epoch, as in the distribution's own archive, because addresses escape the colon."""
    name, version, rest = file.name.split("_")
    return f"{name}_{version.split('%3a')[-1]}_{rest}"


def private_apt_values(folder: Path) -> dict[str, object]:
    """Options of apt by which it reads and writes below `folder` and has nothing of this machine."""
    return {
        "Dir::State": folder / "state",
        "Dir::State::status": folder / "status",
        "Dir::Cache": folder / "cache",
        "Dir::Etc::sourcelist": "/dev/null",
        "Dir::Etc::sourceparts": folder / "sources",
        "Dir::Etc::preferences": folder / "preferences",
        "Dir::Etc::preferencesparts": "/dev/null",
        "APT::Architecture": "amd64",
        "APT::Architectures": "amd64",
        "APT::Sandbox::User": "root",
        "Acquire::Languages": "none",
        "Debug::NoLocking": "true",
    }


def format_options(values: Mapping[str, object]) -> list[str]:
    return [f"-o{name}={value}" for name, value in values.items()]


def write_apt_index(folder: Path, system: str, moment: datetime, build_cache: BuildCache) -> list[Path]:
    """Writes Packages, Packages.gz and Release of a flat repository. apt accepts only
    packages whose sums are in it.
    """
    paragraphs = [package_paragraph(file, build_cache) for file in sorted(folder.glob("*.deb"))]
    content = "\n".join(paragraphs).encode()
    (folder / "Packages").write_bytes(content)
    (folder / "Packages.gz").write_bytes(gzip.compress(content, mtime=0))
    listed = [folder / "Packages", folder / "Packages.gz"]
    (folder / "Release").write_text(_release(system, moment, listed))
    return [*listed, folder / "Release"]


def package_paragraph(file: Path, build_cache: BuildCache) -> str:
    control = build_cache.run(["dpkg-deb", "--field", file]).rstrip("\n")
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
