"""Install a training environment from its wheels and compile Horovod."""

import os
import stat
from dataclasses import dataclass
from pathlib import Path

import psutil

from worker.environments.build_steps import BuildStepProgress, MakeProgressParser
from worker.environments.command_runner import PATH, CommandRunner
from worker.environments.description import EnvironmentDescription
from worker.environments.wheels import WheelFolder, sha256_of_file


@dataclass(frozen=True)
class EnvironmentBuild:
    """Where one build happens: a folder that the next build throws away where this one does not end."""

    description: EnvironmentDescription
    wheels: WheelFolder
    folder: Path
    uv: Path
    python: Path
    commands: CommandRunner

    @property
    def environment(self) -> Path:
        """What is renamed to its place once it is whole."""
        return self.folder / "environment"


def install_wheels(shop: EnvironmentBuild, progress: BuildStepProgress) -> None:
    """A virtual environment of the distribution's interpreter that may be renamed as a whole."""
    shop.commands.run(
        [
            *(shop.uv, "venv", "--no-config", "--no-project", "--relocatable"),
            *("--python", shop.python, shop.environment),
        ],
        variables=_settings(shop),
    )
    progress.advance(0.1)
    _pip_install(shop, shop.description.requirements, progress)
    progress.advance(1.0)


def compile_wheel(shop: EnvironmentBuild, progress: BuildStepProgress) -> Path:
    """Build the wheel inside the environment, against whose TensorFlow it is compiled; takes minutes."""
    temporary, made = shop.folder / "tmp", shop.folder / "compiled"
    temporary.mkdir()
    variables = {
        **shop.description.compiled.variables,
        "MAKEFLAGS": f"-j{count_parallel_compilers()}",
        "TMPDIR": str(temporary),
        "HOME": str(temporary),
        "PATH": f"{shop.environment / 'bin'}:{PATH}",
    }
    options = ["--no-deps", "--no-build-isolation", "--no-index", "--no-cache-dir", "--isolated"]
    source = shop.wheels.find_source(shop.description.compiled.package)
    shop.commands.run(
        [shop.environment / "bin" / "python", "-m", "pip", "wheel", "-v", *options, "-w", made, source],
        variables=variables,
        on_line=MakeProgressParser(progress),
        on_tick=progress.report_again,
    )
    return shop.wheels.store_compiled(next(made.glob("*.whl")))


def install_compiled_wheel(shop: EnvironmentBuild, wheel: Path, progress: BuildStepProgress) -> None:
    name, version = wheel.name.split("-")[:2]
    pin = shop.folder / "compiled.txt"
    pin.write_text(f"{name}=={version} --hash=sha256:{sha256_of_file(wheel)}\n")
    _pip_install(shop, pin, progress)
    progress.advance(1.0)


def make_readable_to_all(place: Path) -> None:
    """Every user may read and run what root built: a job runs as a user of its own."""
    for path in (place, *place.rglob("*")):
        mode = path.lstat().st_mode
        if stat.S_ISLNK(mode):
            continue
        wanted = 0o755 if stat.S_ISDIR(mode) or mode & stat.S_IXUSR else 0o644
        if stat.S_IMODE(mode) != wanted:
            path.chmod(wanted)


def _pip_install(shop: EnvironmentBuild, requirements: Path, progress: BuildStepProgress) -> None:
    shop.commands.run(
        [
            *(shop.uv, "pip", "install", "--no-config", "--offline", "--no-index"),
            *("--find-links", shop.wheels.path, "--no-deps", "--require-hashes", "--compile-bytecode"),
            *("--python", shop.environment, "--requirements", requirements),
        ],
        variables=_settings(shop),
        on_tick=progress.report_again,
    )


def _settings(shop: EnvironmentBuild) -> dict[str, str]:
    """uv's own cache lies beside the environment, so that files are linked there and not written twice."""
    return {
        "UV_CACHE_DIR": str(shop.folder / "uv"),
        "UV_PYTHON_DOWNLOADS": "never",
        "UV_NO_PROGRESS": "1",
        "HOME": str(shop.folder),
    }


def count_parallel_compilers() -> int:
    """As many as the cores and the free memory carry: one takes 1.5 GB of this code."""
    free = psutil.virtual_memory().available
    return max(1, min(len(os.sched_getaffinity(0)), free // 1_500_000_000))
