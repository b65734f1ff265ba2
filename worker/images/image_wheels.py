"""The wheels of an image's variant: those that the training environment's cache has are copied, others are fetched."""

import re
import shutil
import stat
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from cluster.files import safe_files
from worker.environments.build_platform import PYTHON, BuildPlatform, wheel_folder_path
from worker.environments.build_steps import BuildStepProgress
from worker.environments.command_runner import CommandRunner
from worker.environments.description import EnvironmentDescription
from worker.environments.wheels import WheelFolder, download_wheels, sha256_of_file
from worker.images.description import ImageVariant

PINNED_SUM = re.compile(r"--hash=sha256:([0-9a-f]{64})")


@dataclass(frozen=True)
class ImageWheels:
    """A variant's wheels. `description` is its environment in a folder of its own, which the functions for wheels
    expect.
    """

    description: EnvironmentDescription
    wheels: WheelFolder

    @property
    def package(self) -> str:
        return self.description.compiled.package


def open_wheelhouse(variant: ImageVariant, machine: BuildPlatform, cache: Path, folder: Path) -> ImageWheels:
    """Creates `folder` with the variant's requirements under the file names that an environment's description has."""
    folder.mkdir()
    pinned = [variant.requirements, *filter(None, [variant.compiler_requirements])]
    (folder / "requirements.txt").write_text("".join(file.read_text() for file in pinned))
    shutil.copy(variant.environment.source, folder / variant.environment.source.name)
    description = replace(variant.environment, folder=folder)
    return ImageWheels(description, WheelFolder(wheel_folder_path(description, machine, cache)))


def list_wheel_folders(variants: Iterable[ImageVariant], machine: BuildPlatform, cache: Path) -> set[Path]:
    """The wheel folders of these variants, whether they exist or not."""
    with TemporaryDirectory() as place:
        return {
            open_wheelhouse(variant, machine, cache, Path(place, variant.name)).wheels.path
            for variant in variants
        }


def ensure_image_wheels(
    house: ImageWheels, known: Path, commands: CommandRunner, progress: BuildStepProgress
) -> None:
    """Downloads the variant's wheels. Files that the training environment's cache (`known`) has are copied if they
    are pinned.
    """
    if house.wheels.is_intact():
        return
    files = house.wheels.partial / "files"
    files.mkdir(parents=True, exist_ok=True)
    if known.is_dir():
        copy_cached_wheels(known, files)
        delete_unpinned_files(files, pinned_sums(house.description))
    download_wheels(house.description, house.wheels, PYTHON, commands, progress)


def pinned_sums(description: EnvironmentDescription) -> set[str]:
    """The SHA-256 of each file that the description pins."""
    pinned = (description.requirements.read_text(), description.source.read_text())
    return {found for text in pinned for found in PINNED_SUM.findall(text)}


def delete_unpinned_files(files: Path, sums: set[str]) -> None:
    """Deletes files that are not pinned, because the compiler finds the source archive by its name alone."""
    for path in list(files.iterdir()):
        if path.is_file() and sha256_of_file(path) not in sums:
            path.unlink()


def copy_cached_wheels(known: Path, files: Path) -> None:
    """Copies the downloaded files of all wheel folders in `known`. On servers that cache belongs to a service user,
    so links in it are not followed and files are copied.
    """
    with safe_files.open_folder_path(known) as cache, safe_files.open_folder_path(files) as target:
        for name in safe_files.list_names(cache):
            if name.startswith("wheels-") and safe_files.kind_at(cache, name) == stat.S_IFDIR:
                with safe_files.open_folder_path(known, name) as wheels:
                    copy_fetched_wheels(wheels, target)


def copy_fetched_wheels(source: int, target: int) -> None:
    """Copies the downloaded files only. A file that has its sum beside it was compiled there
    and is in nobody's pins.
    """
    names = set(safe_files.list_names(source))
    there = set(safe_files.list_names(target))
    for name in sorted(names - there):
        if name.endswith((".whl", ".gz")) and f"{name}.sha256" not in names:
            safe_files.link_or_copy_file(source, name, target, 0o644)
