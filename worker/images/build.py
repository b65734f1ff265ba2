"""Build a default image as an archive. A build can be repeated, be interrupted and run twice at the same time."""

import os
import shutil
from pathlib import Path

from worker.environments.build_lock import disk_full_as_no_space, hold_build_lock
from worker.environments.build_platform import PYTHON, BuildPlatform, read_build_platform
from worker.environments.build_steps import BuildStep, BuildStepProgress, ProgressCallback
from worker.environments.command_runner import PATH, CommandRunner
from worker.environments.errors import BuildFailed
from worker.environments.prerequisites import check_free_space, check_python_version, missing_tools_error
from worker.images import contents, cuda_libraries, image_wheels, python_environment
from worker.images.description import ImageVariant, image_archive_path
from worker.images.image_record import read_image_record
from worker.images.packing import pack_image
from worker.images.root_filesystem import RootFilesystem
from worker.images.system_setup import image_variables, remove_build_traces, set_up_user

TOOLS = {"mmdebstrap": "mmdebstrap", "unshare": "util-linux", "ip": "iproute2"}
"""The programs that a build calls, and the packages that contain them."""


def build_image(
    variant: ImageVariant, cache: Path, report: ProgressCallback, *, uv: Path, log: Path, known: Path
) -> Path:
    """Builds the archive, unless a complete one is in the cache, and returns its path.

    `known` is a cache of training environments whose wheels are used. The build needs root, because the files of a
    distribution belong to root. Raises BuildFailed with the reason, or whatever `report` raised.
    """
    machine = read_build_platform(PYTHON)
    target = image_archive_path(variant, machine, cache)
    if read_image_record(target) is not None:
        return target
    check_image_prerequisites(variant, cache)
    log.parent.mkdir(parents=True, exist_ok=True)
    with hold_build_lock(cache, report) as mark, disk_full_as_no_space(cache, log):
        if read_image_record(target) is None:
            folder = cache / f"{target.stem}.building"
            if folder.exists():
                shutil.rmtree(folder)
            folder.mkdir(mode=0o755)
            ImageBuild(variant, machine, cache, folder, CommandRunner(log, mark), report).run(
                uv, known, target
            )
            shutil.rmtree(folder)
    return target


def check_image_prerequisites(variant: ImageVariant, cache: Path) -> None:
    """Raises BuildFailed if something that the build needs is missing."""
    if os.geteuid() != 0:
        raise BuildFailed("environment.needs_root", log="")
    cache.mkdir(mode=0o755, parents=True, exist_ok=True)
    check_python_version(variant.environment, PYTHON)
    missing = [package for program, package in TOOLS.items() if shutil.which(program, path=PATH) is None]
    if missing:
        raise missing_tools_error(missing)
    check_free_space(cache, variant.disk)


class ImageBuild:
    """One build, in a folder that the next build deletes if this one does not finish."""

    def __init__(
        self,
        variant: ImageVariant,
        machine: BuildPlatform,
        cache: Path,
        folder: Path,
        commands: CommandRunner,
        report: ProgressCallback,
    ) -> None:
        self.variant = variant
        self.machine = machine
        self.cache = cache
        self.folder = folder
        self.report = report
        self.variables = image_variables(variant.environment.variables, variant.user)
        for name in ("workshop", "layers"):
            (folder / name).mkdir(mode=0o755)
        self.root = RootFilesystem(folder / "root", folder / "workshop", commands)

    def run(self, uv: Path, known: Path, target: Path) -> None:
        house = image_wheels.open_wheelhouse(
            self.variant, self.machine, self.cache, self.folder / "description"
        )
        image_wheels.ensure_image_wheels(house, known, self.root.commands, self.step(BuildStep.DOWNLOAD))
        self.root.create(
            self.variant.system, self.variant.system.packages, self.step(BuildStep.SYSTEM).report_again
        )
        set_up_user(self.root.path, self.variant.user, self.variant.environment.variables)
        python_environment.install_in_image(self.root, uv, self.variant, house, self.step(BuildStep.INSTALL))
        wheel = house.wheels.find_compiled(house.package) or self.compile(house)
        python_environment.install_compiled_in_image(self.root, wheel, self.step(BuildStep.INSTALL))
        cuda_libraries.configure_loader(self.root, self.step(BuildStep.INSTALL))
        contents.verify_image(self.root, self.variant, self.variables, self.step(BuildStep.VERIFY))
        gpu_code = contents.read_gpu_code(self.root, self.variant)
        found = contents.list_image_contents(self.root, self.variant, self.step(BuildStep.CONTENTS))
        remove_build_traces(self.root.path)
        pack_image(
            self.root.path,
            self.variant,
            self.machine,
            self.variables,
            found,
            self.folder / "layers",
            target,
            self.step(BuildStep.PACK),
            gpu_code,
        )

    def compile(self, house: image_wheels.ImageWheels) -> Path:
        compiler = RootFilesystem(self.folder / "compiler", self.root.work_dir, self.root.commands)
        system = self.variant.system
        compiler.create(
            system, [*system.packages, *system.compiler], self.step(BuildStep.SYSTEM).report_again
        )
        if self.variant.compiler_requirements is not None:
            cuda_libraries.lay_out_toolkit(
                self.root, self.variant.compiler_requirements, self.step(BuildStep.INSTALL)
            )
        opt = self.root.path / "opt"
        wheel = python_environment.compile_in_image(compiler, opt, house, self.step(BuildStep.COMPILE))
        shutil.rmtree(compiler.path)
        return wheel

    def step(self, step: BuildStep) -> BuildStepProgress:
        progress = BuildStepProgress(self.report, step)
        progress.advance(0.0)
        return progress
