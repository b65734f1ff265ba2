"""Build a training environment. A build can be repeated, be interrupted and run twice at the same time."""

import shutil
from pathlib import Path

from worker.environments import installation, prerequisites, verification
from worker.environments.build_lock import disk_full_as_no_space, hold_build_lock
from worker.environments.build_platform import (
    PYTHON,
    read_build_platform,
    training_environment_digest,
    training_environment_path,
    wheel_folder_path,
)
from worker.environments.build_steps import BuildStep, BuildStepProgress, ProgressCallback
from worker.environments.command_runner import CommandRunner
from worker.environments.description import EnvironmentDescription
from worker.environments.manifest import EnvironmentManifest, is_environment_ready, write_environment_manifest
from worker.environments.wheels import WheelFolder, download_wheels, sync_filesystem


def build_environment(
    description: EnvironmentDescription,
    cache: Path,
    report: ProgressCallback,
    *,
    uv: Path,
    log: Path,
    python: Path = PYTHON,
    offered: Path | None = None,
) -> Path:
    """Builds the environment, unless a complete one is in the cache, and returns its folder.

    `offered` contains, in `<name of the wheel folder>/`, wheels that another machine of the same kind compiled.

    The environment is built in a folder beside its final path and is renamed after everything has been synced to the
    disk. Raises BuildFailed with the reason, or whatever `report` raised. The next call continues with what is
    complete.
    """
    prerequisites.check_python_version(description, python)
    machine = read_build_platform(python)
    target = training_environment_path(description, machine, cache)
    if is_environment_ready(target):
        return target
    cache.mkdir(mode=0o755, parents=True, exist_ok=True)
    log.parent.mkdir(parents=True, exist_ok=True)
    with hold_build_lock(cache, report) as mark, disk_full_as_no_space(cache, log):
        if not is_environment_ready(target):
            build = installation.EnvironmentBuild(
                description=description,
                wheels=WheelFolder(wheel_folder_path(description, machine, cache), offered),
                folder=target.with_name(f"{target.name}.building"),
                uv=uv,
                python=python,
                commands=CommandRunner(log, mark),
            )
            _build_new(build, target, training_environment_digest(description, machine), report)
    return target


def _build_new(
    build: installation.EnvironmentBuild, target: Path, digest: str, report: ProgressCallback
) -> None:
    if build.folder.exists():
        shutil.rmtree(build.folder)
    progress = BuildStepProgress(report, BuildStep.CHECK_TOOLS)
    progress.advance(0.0)
    has_wheels = _check(build, target.parent)
    progress.advance(1.0)
    build.folder.mkdir(mode=0o755)
    progress = BuildStepProgress(report, BuildStep.DOWNLOAD)
    progress.advance(0.0)
    if has_wheels:
        shutil.rmtree(build.wheels.partial, ignore_errors=True)
    else:
        download_wheels(build.description, build.wheels, build.python, build.commands, progress)
    progress.advance(1.0)
    progress = BuildStepProgress(report, BuildStep.INSTALL)
    installation.install_wheels(build, progress)
    progress = BuildStepProgress(report, BuildStep.COMPILE)
    progress.advance(0.0)
    package = build.description.compiled.package
    wheel = build.wheels.find_compiled(package)
    if wheel is None and (offered := build.wheels.find_offered(package)):
        wheel = build.wheels.store_compiled(offered)
    wheel = wheel or installation.compile_wheel(build, progress)
    installation.install_compiled_wheel(build, wheel, progress)
    progress = BuildStepProgress(report, BuildStep.VERIFY)
    progress.advance(0.0)
    installation.make_readable_to_all(build.environment)
    verification.verify_environment(build, progress)
    progress = BuildStepProgress(report, BuildStep.CONTENTS)
    contents = verification.list_environment_contents(build, progress)
    write_environment_manifest(
        build.environment, EnvironmentManifest(digest, build.description.variables, contents)
    )
    _put_in_place(build, target)
    progress.advance(1.0)


def _check(build: installation.EnvironmentBuild, cache: Path) -> bool:
    """Whether the wheel folder is complete. Raises ToolsMissing or NoSpaceForBuild if the missing
    parts cannot be made.
    """
    disk = build.description.disk
    has_wheels = build.wheels.is_intact()
    needed = disk.environment
    if not has_wheels:
        prerequisites.check_ensurepip(build.python)
        needed += disk.wheels
    package = build.description.compiled.package
    is_compiled = (has_wheels and build.wheels.find_compiled(package)) or build.wheels.find_offered(package)
    if not is_compiled:
        prerequisites.check_compiler(build.description, build.python)
        needed += disk.compilation
    prerequisites.check_free_space(cache, needed)
    return has_wheels


def _put_in_place(build: installation.EnvironmentBuild, target: Path) -> None:
    for left in build.folder.iterdir():
        if left.is_dir() and left != build.environment:
            shutil.rmtree(left)
    sync_filesystem(build.folder)
    if target.exists():
        # The environment is damaged or its interpreter is gone, so no program can be running in it.
        shutil.rmtree(target)
    build.environment.rename(target)
    sync_filesystem(target)
    shutil.rmtree(build.folder)
