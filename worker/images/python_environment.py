"""Install the Python environment inside an image, and compile Horovod against the image's MPI."""

import os
import shutil
from pathlib import Path

from worker.environments.build_platform import PYTHON
from worker.environments.build_steps import BuildStepProgress, MakeProgressParser
from worker.environments.command_runner import PATH, CommandRunner
from worker.environments.cpu_torch import make_torch_run_on_cpus
from worker.environments.errors import BuildStepFailed
from worker.environments.installation import PACKAGES, count_parallel_compilers, make_readable_to_all
from worker.environments.wheels import sha256_of_file
from worker.images.description import ENVIRONMENT_PATH, ImageVariant
from worker.images.image_wheels import ImageWheels
from worker.images.root_filesystem import WORK_MOUNT, RootFilesystem

UV_CACHE = ENVIRONMENT_PATH.with_name("uv-cache")
"""The cache is on the file system of the environment, so that uv links files and copies none."""
UV_VARIABLES = {
    "UV_PYTHON_DOWNLOADS": "never",
    "UV_NO_PROGRESS": "1",
    "HOME": str(WORK_MOUNT),
    "UV_CACHE_DIR": str(UV_CACHE),
}


def link_or_copy(wheel: Path, place: Path) -> None:
    """Makes a hard link if both paths are on one disk, and otherwise a copy."""
    if place.exists():
        return
    try:
        os.link(wheel, place)
    except OSError:
        shutil.copy(wheel, place)


def install_in_image(
    root: RootFilesystem, uv: Path, variant: ImageVariant, house: ImageWheels, progress: BuildStepProgress
) -> None:
    """Creates a virtual environment with the image's own interpreter at `ENVIRONMENT_PATH`, and installs the wheels
    there.
    """
    workshop = root.work_dir
    shutil.copy(uv, workshop / "uv-program")
    shutil.copytree(
        house.wheels.path, workshop / "wheels", copy_function=link_or_copy_path, dirs_exist_ok=True
    )
    shutil.copy(variant.requirements, workshop / "requirements.txt")
    root.run_inside(
        [
            WORK_MOUNT / "uv-program",
            "venv",
            "--no-config",
            "--no-project",
            "--python",
            PYTHON,
            ENVIRONMENT_PATH,
        ],
        variables=UV_VARIABLES,
        on_tick=progress.report_again,
    )
    uv_install(root, "requirements.txt", progress)
    if variant.environment.has_torch_for_cpus:
        for packages in (root.path / ENVIRONMENT_PATH.relative_to("/")).glob(PACKAGES):
            make_torch_run_on_cpus(packages)


def link_or_copy_path(source: str, target: str) -> None:
    link_or_copy(Path(source), Path(target))


def uv_install(
    root: RootFilesystem, requirements: str, progress: BuildStepProgress, folder: Path | None = None
) -> None:
    """Installs pinned packages into the environment, or as plain files into `folder`, a path inside the image."""
    target = ("--target", folder) if folder else ("--python", ENVIRONMENT_PATH, "--compile-bytecode")
    root.run_inside(
        [
            *(WORK_MOUNT / "uv-program", "pip", "install", "--no-config", "--offline", "--no-index"),
            *("--find-links", WORK_MOUNT / "wheels", "--no-deps", "--require-hashes"),
            *(*target, "--requirements", WORK_MOUNT / requirements),
        ],
        variables=UV_VARIABLES,
        on_tick=progress.report_again,
    )
    shutil.rmtree(root.path / UV_CACHE.relative_to("/"), ignore_errors=True)


def compile_in_image(
    workshop_root: RootFilesystem, opt: Path, house: ImageWheels, progress: BuildStepProgress
) -> Path:
    """Compiles the wheel in a system that has the compiler and sees the image's environment; takes minutes."""
    made, temporary = workshop_root.work_dir / "compiled", workshop_root.work_dir / "tmp"
    made.mkdir()
    temporary.mkdir()
    unpack_source(house, workshop_root.work_dir / "source", workshop_root.commands)
    options = ["--no-deps", "--no-build-isolation", "--no-index", "--no-cache-dir", "--isolated"]
    workshop_root.run_inside(
        [
            ENVIRONMENT_PATH / "bin" / "python",
            "-m",
            "pip",
            "wheel",
            "-v",
            *options,
            "-w",
            WORK_MOUNT / "compiled",
            WORK_MOUNT / "source",
        ],
        variables={
            **house.description.compiled.variables,
            "MAKEFLAGS": f"-j{count_parallel_compilers()}",
            "TMPDIR": str(WORK_MOUNT / "tmp"),
            "HOME": str(WORK_MOUNT / "tmp"),
            "PATH": f"{ENVIRONMENT_PATH}/bin:{PATH}",
        },
        on_line=MakeProgressParser(progress),
        on_tick=progress.report_again,
        place=opt,
    )
    return house.wheels.store_compiled(next(made.glob("*.whl")))


def unpack_source(house: ImageWheels, folder: Path, commands: CommandRunner) -> None:
    """Unpacks the source archive and makes the description's changes. Raises BuildStepFailed if a text to change is
    not there once.
    """
    folder.mkdir()
    archive = house.wheels.find_source(house.package)
    unpack = ["tar", "--extract", "--no-same-owner", "--strip-components=1"]
    commands.run([*unpack, "--file", archive, "--directory", folder], variables={})
    for change in house.description.compiled.changes:
        file = folder / change.file
        text = file.read_text()
        if text.count(change.old) != 1:
            line = f"{change.file} does not contain once: {change.old}"
            raise BuildStepFailed("environment.step_failed", command="patch", exit_code=1, line=line, log="")
        file.write_text(text.replace(change.old, change.new))


def install_compiled_in_image(root: RootFilesystem, wheel: Path, progress: BuildStepProgress) -> None:
    link_or_copy(wheel, root.work_dir / "wheels" / wheel.name)
    name, version = wheel.name.split("-")[:2]
    (root.work_dir / "compiled.txt").write_text(f"{name}=={version} --hash=sha256:{sha256_of_file(wheel)}\n")
    uv_install(root, "compiled.txt", progress)
    make_readable_to_all(root.path / ENVIRONMENT_PATH.relative_to("/"))
