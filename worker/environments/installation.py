"""Install a training environment from its wheels and compile Horovod."""

import os
import stat
from dataclasses import dataclass
from pathlib import Path

import psutil

from worker.environments.build_steps import BuildStepProgress, MakeProgressParser
from worker.environments.command_runner import PATH, CommandRunner
from worker.environments.cpu_torch import make_torch_run_on_cpus
from worker.environments.description import EnvironmentDescription
from worker.environments.wheels import WheelFolder, sha256_of_file

PACKAGES = "lib/python3*/site-packages"


@dataclass(frozen=True)
class EnvironmentBuild:
    """The inputs and the folder of one build. If the build does not finish, the next one deletes the folder."""

    description: EnvironmentDescription
    wheels: WheelFolder
    folder: Path
    uv: Path
    python: Path
    commands: CommandRunner

    @property
    def environment(self) -> Path:
        """The environment under construction; the caller renames it to its final path once it is complete."""
        return self.folder / "environment"


def install_wheels(build: EnvironmentBuild, progress: BuildStepProgress) -> None:
    """Create a relocatable virtual environment with the distribution's interpreter and install the wheels there."""
    build.commands.run(
        [
            *(build.uv, "venv", "--no-config", "--no-project", "--relocatable"),
            *("--python", build.python, build.environment),
        ],
        variables=_settings(build),
    )
    progress.advance(0.1)
    _pip_install(build, build.description.requirements, progress)
    if build.description.has_torch_for_cpus:
        for packages in build.environment.glob(PACKAGES):
            make_torch_run_on_cpus(packages)
    progress.advance(1.0)


def compile_wheel(build: EnvironmentBuild, progress: BuildStepProgress) -> Path:
    """Build the wheel inside the environment, against whose TensorFlow it is compiled; takes minutes."""
    temporary, made = build.folder / "tmp", build.folder / "compiled"
    temporary.mkdir()
    variables = {
        **build.description.compiled.variables,
        "MAKEFLAGS": f"-j{count_parallel_compilers()}",
        "TMPDIR": str(temporary),
        "HOME": str(temporary),
        "PATH": f"{build.environment / 'bin'}:{PATH}",
    }
    options = ["--no-deps", "--no-build-isolation", "--no-index", "--no-cache-dir", "--isolated"]
    source = build.wheels.find_source(build.description.compiled.package)
    build.commands.run(
        [build.environment / "bin" / "python", "-m", "pip", "wheel", "-v", *options, "-w", made, source],
        variables=variables,
        on_line=MakeProgressParser(progress),
        on_tick=progress.report_again,
    )
    return build.wheels.store_compiled(next(made.glob("*.whl")))


def install_compiled_wheel(build: EnvironmentBuild, wheel: Path, progress: BuildStepProgress) -> None:
    name, version = wheel.name.split("-")[:2]
    pin = build.folder / "compiled.txt"
    pin.write_text(f"{name}=={version} --hash=sha256:{sha256_of_file(wheel)}\n")
    _pip_install(build, pin, progress)
    progress.advance(1.0)


def make_readable_to_all(place: Path) -> None:
    """Let every user read and run what root built, because each job runs as a user of its own."""
    for path in (place, *place.rglob("*")):
        mode = path.lstat().st_mode
        if stat.S_ISLNK(mode):
            continue
        wanted = 0o755 if stat.S_ISDIR(mode) or mode & stat.S_IXUSR else 0o644
        if stat.S_IMODE(mode) != wanted:
            path.chmod(wanted)


def _pip_install(build: EnvironmentBuild, requirements: Path, progress: BuildStepProgress) -> None:
    build.commands.run(
        [
            *(build.uv, "pip", "install", "--no-config", "--offline", "--no-index"),
            *("--find-links", build.wheels.path, "--no-deps", "--require-hashes", "--compile-bytecode"),
            *("--python", build.environment, "--requirements", requirements),
        ],
        variables=_settings(build),
        on_tick=progress.report_again,
    )


def _settings(build: EnvironmentBuild) -> dict[str, str]:
    """Environment variables of uv, whose cache is beside the environment so that uv links files and copies none."""
    return {
        "UV_CACHE_DIR": str(build.folder / "uv"),
        "UV_PYTHON_DOWNLOADS": "never",
        "UV_NO_PROGRESS": "1",
        "HOME": str(build.folder),
    }


def count_parallel_compilers() -> int:
    """The number of compilers that the cores and the free memory allow. One compiler needs 1.5 GB for Horovod."""
    free = psutil.virtual_memory().available
    return max(1, min(len(os.sched_getaffinity(0)), free // 1_500_000_000))
