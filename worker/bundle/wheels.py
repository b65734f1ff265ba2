"""Fetch the pinned wheels of all our Python environments into one folder."""

import re
import shutil
import zipfile
from collections.abc import Sequence
from pathlib import Path

from worker.bundle import licences
from worker.bundle.build_cache import BuildCache
from worker.bundle.check import sha256_of
from worker.bundle.sources import CLONE
from worker.environments.description import EnvironmentDescription, select_pins

REQUIREMENTS = ("portal.txt", "repairs.txt", "ansible.txt")
"""Of the master, of its repairs, and of the machine that runs Ansible."""
PYTHON = Path("/usr/bin/python3")
"""Wheels are chosen for the distribution's own interpreter, on which everything of ours runs."""


def fetch_bundle_wheels(
    training: EnvironmentDescription, folder: Path, kept: Sequence[Path], shop: BuildCache
) -> list[Path]:
    """The wheels of all our environments, and the one source among them.

    `kept` are folders in which some lie already; what `folder` has is not fetched again.
    """
    folder.mkdir(parents=True, exist_ok=True)
    pip = _pip(folder.with_name("pip"), shop)
    fetch = [*pip, "download", "--require-hashes", "--no-deps", "--dest", str(folder)]
    for place in kept:
        fetch += ["--find-links", str(place)]
    for pins in [*(CLONE / "requirements" / name for name in REQUIREMENTS), training.requirements]:
        text = pins.read_text()
        shop.report(
            "fetching the {count} wheels of {place}", count=text.count("=="), place=pins.relative_to(CLONE)
        )
        shop.run([*fetch, "--only-binary", ":all:", "-r", pins])
    tools = folder.with_name("tools.txt")
    tools.write_text(select_pins(training.requirements.read_text(), ("setuptools", "wheel", "packaging")))
    # The archive of sources is asked for its name and version, which needs its build's own tools.
    shop.run(
        [*pip, "install", "--no-index", "--find-links", folder, "--require-hashes", "--no-deps", "-r", tools]
    )
    shop.run([*fetch, "--no-binary", ":all:", "--no-build-isolation", "-r", training.source])
    every = [
        *(CLONE / "requirements" / name for name in REQUIREMENTS),
        training.requirements,
        training.source,
    ]
    return select_pinned_files(folder, [file.read_text() for file in every])


def select_pinned_files(folder: Path, pins: Sequence[str]) -> list[Path]:
    """The folder also keeps what earlier versions were pinned to: that has no place in a new bundle."""
    sums = {each for text in pins for each in re.findall(r"--hash=sha256:([0-9a-f]{64})", text)}
    files = [*folder.glob("*.whl"), *folder.glob("*.tar.gz")]
    return sorted(file for file in files if sha256_of(file) in sums)


def parse_wheel_name(file: Path) -> tuple[str, str]:
    name, version = file.name.removesuffix(".tar.gz").split("-")[:2]
    return name, version


def read_wheel_licence(file: Path) -> str:
    """From a wheel's own metadata."""
    if file.suffix != ".whl":
        return licences.UNKNOWN
    with zipfile.ZipFile(file) as wheel:
        metadata = next(name for name in wheel.namelist() if re.fullmatch(r"[^/]+\.dist-info/METADATA", name))
        return licences.licence_of_wheel_metadata(wheel.read(metadata).decode("utf-8", "replace"))


def _pip(folder: Path, shop: BuildCache) -> list[str]:
    if not (folder / "bin" / "pip").exists():
        shutil.rmtree(folder, ignore_errors=True)
        shop.run([PYTHON, "-m", "venv", folder])
    return [str(folder / "bin" / "python"), "-m", "pip", "--disable-pip-version-check"]
