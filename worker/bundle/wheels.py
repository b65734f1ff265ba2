"""Fetch the pinned wheels of all our Python environments, and add them to a bundle."""

import re
import zipfile
from collections.abc import Sequence
from pathlib import Path

from worker.bundle import licences
from worker.bundle.assembly import BundleAssembly
from worker.bundle.build_cache import BuildCache
from worker.bundle.check import sha256_of
from worker.bundle.manifest import BundleFileKind
from worker.bundle.sources import CLONE
from worker.environments.build_platform import PYTHON, read_build_platform, wheel_folder_path
from worker.environments.build_steps import BuildStep, BuildStepProgress
from worker.environments.command_runner import CommandRunner
from worker.environments.description import EnvironmentDescription, read_environment_description
from worker.environments.wheels import WheelFolder, download_pinned_files

REQUIREMENTS = ("portal.txt", "repairs.txt", "ansible.txt")
"""The requirements of the master, of its repairs, and of the machine that runs Ansible."""


def add_wheels(assembly: BundleAssembly, build_cache: BuildCache) -> None:
    cache, training = build_cache.cache.parent, read_environment_description()
    kept = sorted(path for path in cache.glob("wheels-*") if path.is_dir())
    add_compiled_wheel(assembly, training, wheel_folder_path(training, read_build_platform(PYTHON), cache))
    for file in fetch_bundle_wheels(training, build_cache.cache / "wheels" / "files", kept, build_cache):
        name, version = parse_wheel_name(file)
        assembly.add_file(
            file,
            f"wheels/{file.name}",
            BundleFileKind.WHEEL,
            name=name,
            version=version,
            licence=read_wheel_licence(file),
            source="the package index",
        )


def add_compiled_wheel(assembly: BundleAssembly, training: EnvironmentDescription, place: Path) -> None:
    """Adds the wheel that this machine compiled, so that a master of the same kind need not compile it."""
    wheel = WheelFolder(place).find_compiled(training.compiled.package)
    if wheel is None:
        return
    name, version = parse_wheel_name(wheel)
    assembly.add_file(
        wheel,
        f"files/compiled/{place.name}/{wheel.name}",
        BundleFileKind.WHEEL,
        name=f"{name}, compiled",
        version=version,
        licence=read_wheel_licence(wheel),
        source=f"compiled on a machine of the kind {place.name}",
    )


def fetch_bundle_wheels(
    training: EnvironmentDescription,
    folder: Path,
    kept: Sequence[Path],
    build_cache: BuildCache,
    python: Path = PYTHON,
) -> list[Path]:
    """The wheels of all our environments, and the one source archive. Raises CollectingFailed.

    `kept` are folders that may contain some of them. Files that `folder` has are not fetched again.
    """
    pins = [*(CLONE / "requirements" / name for name in REQUIREMENTS), training.requirements]
    commands = CommandRunner(build_cache.log, str(folder))
    with build_cache.report_build("the wheels") as report:
        progress = BuildStepProgress(report, BuildStep.DOWNLOAD)
        download_pinned_files(pins, training, folder, python, commands, progress, kept)
    return select_pinned_files(folder, [file.read_text() for file in (*pins, training.source)])


def select_pinned_files(folder: Path, pins: Sequence[str]) -> list[Path]:
    """The files that are pinned now. The folder may also have files that earlier versions pinned."""
    sums = {each for text in pins for each in re.findall(r"--hash=sha256:([0-9a-f]{64})", text)}
    files = [*folder.glob("*.whl"), *folder.glob("*.tar.gz")]
    return sorted(file for file in files if sha256_of(file) in sums)


def parse_wheel_name(file: Path) -> tuple[str, str]:
    name, version = file.name.removesuffix(".tar.gz").split("-")[:2]
    return name, version


def read_wheel_licence(file: Path) -> str:
    """The licence in a wheel's own metadata."""
    if file.suffix != ".whl":
        return licences.UNKNOWN
    with zipfile.ZipFile(file) as wheel:
        metadata = next(name for name in wheel.namelist() if re.fullmatch(r"[^/]+\.dist-info/METADATA", name))
        return licences.licence_of_wheel_metadata(wheel.read(metadata).decode("utf-8", "replace"))
