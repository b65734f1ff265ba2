"""The Python environment inside an image: installed from checked wheels, Horovod compiled against its own MPI."""

import os
import shutil
import stat
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from cluster.files import by_descriptor
from worker.environments.commands import PATH, Commands
from worker.environments.description import Description
from worker.environments.install import compilers, open_to_all
from worker.environments.machine import PYTHON, Machine, wheels_path
from worker.environments.steps import CompilerLines, Progress
from worker.environments.wheels import Wheels, download, sha256_of
from worker.images.description import PLACE, Variant
from worker.images.root import WORKSHOP, Root

UV = {
    "UV_PYTHON_DOWNLOADS": "never",
    "UV_NO_PROGRESS": "1",
    "HOME": str(WORKSHOP),
    "UV_CACHE_DIR": f"{WORKSHOP}/uv",
}


@dataclass(frozen=True)
class Wheelhouse:
    """`description` is the variant's environment in a folder of its own, as the wheels' functions want it."""

    description: Description
    wheels: Wheels

    @property
    def package(self) -> str:
        return self.description.compiled.package


def open_wheelhouse(variant: Variant, machine: Machine, cache: Path, folder: Path) -> Wheelhouse:
    """`folder` is made anew and gets the requirements under the names that an environment's description has."""
    folder.mkdir()
    pinned = [variant.requirements, *filter(None, [variant.compiler_requirements])]
    (folder / "requirements.txt").write_text("".join(file.read_text() for file in pinned))
    shutil.copy(variant.environment.source, folder / variant.environment.source.name)
    description = replace(variant.environment, folder=folder)
    return Wheelhouse(description, Wheels(wheels_path(description, machine, cache)))


def wheels_folders(variants: Iterable[Variant], machine: Machine, cache: Path) -> set[Path]:
    """Where the packages of these variants lie, or would."""
    with TemporaryDirectory() as place:
        return {
            open_wheelhouse(variant, machine, cache, Path(place, variant.name)).wheels.path
            for variant in variants
        }


def ensure_wheels(house: Wheelhouse, known: Path, commands: Commands, progress: Progress) -> None:
    """Files that the training environment's cache (`known`) holds are not fetched again; pip checks their sums."""
    if house.wheels.are_whole():
        return
    files = house.wheels.partial / "files"
    files.mkdir(parents=True, exist_ok=True)
    if known.is_dir():
        take_known(known, files)
    download(house.description, house.wheels, PYTHON, commands, progress)


def take_known(known: Path, files: Path) -> None:
    """On servers that cache is a service's: its links lead nowhere, and its files are copied, so that ours are ours."""
    with by_descriptor.folder(known) as cache, by_descriptor.folder(files) as target:
        for name in by_descriptor.list_names(cache):
            if name.startswith("wheels-") and by_descriptor.kind_of(cache, name) == stat.S_IFDIR:
                with by_descriptor.folder(known, name) as wheels:
                    take_wheels(wheels, target)


def take_wheels(source: int, target: int) -> None:
    """Those that were fetched: what was compiled there has its sum beside it, and is known by nobody else's."""
    names = set(by_descriptor.list_names(source))
    there = set(by_descriptor.list_names(target))
    for name in sorted(names - there):
        if name.endswith((".whl", ".gz")) and f"{name}.sha256" not in names:
            by_descriptor.take_file(source, name, target, 0o644)


def take(wheel: Path, place: Path) -> None:
    """A link where both are on one disk."""
    if place.exists():
        return
    try:
        os.link(wheel, place)
    except OSError:
        shutil.copy(wheel, place)


def install(root: Root, uv: Path, variant: Variant, house: Wheelhouse, progress: Progress) -> None:
    """A virtual environment of the image's own interpreter, at the place where it will be used."""
    workshop = root.workshop
    shutil.copy(uv, workshop / "uv-program")
    shutil.copytree(house.wheels.path, workshop / "wheels", copy_function=take_copy, dirs_exist_ok=True)
    shutil.copy(variant.requirements, workshop / "requirements.txt")
    root.run(
        [WORKSHOP / "uv-program", "venv", "--no-config", "--no-project", "--python", PYTHON, PLACE],
        variables=UV,
        on_tick=progress.tick,
    )
    pip_install(root, "requirements.txt", progress)


def take_copy(source: str, target: str) -> None:
    take(Path(source), Path(target))


def pip_install(root: Root, requirements: str, progress: Progress, folder: Path | None = None) -> None:
    """Into the environment, or as plain packages into a folder that is seen inside."""
    target = ("--target", folder) if folder else ("--python", PLACE, "--compile-bytecode")
    root.run(
        [
            *(WORKSHOP / "uv-program", "pip", "install", "--no-config", "--offline", "--no-index"),
            *("--find-links", WORKSHOP / "wheels", "--no-deps", "--require-hashes"),
            *(*target, "--requirements", WORKSHOP / requirements),
        ],
        variables=UV,
        on_tick=progress.tick,
    )


def compile_source(workshop_root: Root, opt: Path, house: Wheelhouse, progress: Progress) -> Path:
    """The wheel, made in minutes in a system that has the compiler and sees the image's environment."""
    made, temporary = workshop_root.workshop / "compiled", workshop_root.workshop / "tmp"
    made.mkdir()
    temporary.mkdir()
    source = WORKSHOP / "wheels" / house.wheels.source(house.package).name
    options = ["--no-deps", "--no-build-isolation", "--no-index", "--no-cache-dir", "--isolated"]
    workshop_root.run(
        [PLACE / "bin" / "python", "-m", "pip", "wheel", "-v", *options, "-w", WORKSHOP / "compiled", source],
        variables={
            **house.description.compiled.variables,
            "MAKEFLAGS": f"-j{compilers()}",
            "TMPDIR": str(WORKSHOP / "tmp"),
            "HOME": str(WORKSHOP / "tmp"),
            "PATH": f"{PLACE}/bin:{PATH}",
        },
        on_line=CompilerLines(progress),
        on_tick=progress.tick,
        place=opt,
    )
    return house.wheels.keep_compiled(next(made.glob("*.whl")))


def install_compiled(root: Root, wheel: Path, progress: Progress) -> None:
    take(wheel, root.workshop / "wheels" / wheel.name)
    name, version = wheel.name.split("-")[:2]
    (root.workshop / "compiled.txt").write_text(f"{name}=={version} --hash=sha256:{sha256_of(wheel)}\n")
    pip_install(root, "compiled.txt", progress)
    open_to_all(root.path / PLACE.relative_to("/"))
