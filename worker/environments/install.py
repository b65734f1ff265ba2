"""Makes the environment's folder from the wheels, and compiles what has no wheel yet."""

import os
import stat
from dataclasses import dataclass
from pathlib import Path

import psutil

from worker.environments.commands import PATH, Commands
from worker.environments.description import Description
from worker.environments.steps import CompilerLines, Progress
from worker.environments.wheels import Wheels, sha256_of


@dataclass(frozen=True)
class Workshop:
    """Where one build happens: a folder that the next build throws away where this one does not end."""

    description: Description
    wheels: Wheels
    folder: Path
    uv: Path
    python: Path
    commands: Commands

    @property
    def environment(self) -> Path:
        """What is renamed to its place once it is whole."""
        return self.folder / "environment"


def install(shop: Workshop, progress: Progress) -> None:
    """A virtual environment of the distribution's interpreter that may be renamed as a whole."""
    shop.commands.run(
        [
            *(shop.uv, "venv", "--no-config", "--no-project", "--relocatable"),
            *("--python", shop.python, shop.environment),
        ],
        variables=_settings(shop),
    )
    progress.tell(0.1)
    _pip_install(shop, shop.description.requirements, progress)
    progress.tell(1.0)


def compile_source(shop: Workshop, progress: Progress) -> Path:
    """Build the wheel inside the environment, against whose TensorFlow it is compiled; takes minutes."""
    temporary, made = shop.folder / "tmp", shop.folder / "compiled"
    temporary.mkdir()
    variables = {
        **shop.description.compiled.variables,
        "MAKEFLAGS": f"-j{compilers()}",
        "TMPDIR": str(temporary),
        "HOME": str(temporary),
        "PATH": f"{shop.environment / 'bin'}:{PATH}",
    }
    options = ["--no-deps", "--no-build-isolation", "--no-index", "--no-cache-dir", "--isolated"]
    source = shop.wheels.source(shop.description.compiled.package)
    shop.commands.run(
        [shop.environment / "bin" / "python", "-m", "pip", "wheel", "-v", *options, "-w", made, source],
        variables=variables,
        on_line=CompilerLines(progress),
        on_tick=progress.tick,
    )
    return shop.wheels.keep_compiled(next(made.glob("*.whl")))


def install_compiled(shop: Workshop, wheel: Path, progress: Progress) -> None:
    name, version = wheel.name.split("-")[:2]
    pin = shop.folder / "compiled.txt"
    pin.write_text(f"{name}=={version} --hash=sha256:{sha256_of(wheel)}\n")
    _pip_install(shop, pin, progress)
    progress.tell(1.0)


def open_to_all(place: Path) -> None:
    """Every user may read and run what root built: a job runs as a user of its own."""
    for path in (place, *place.rglob("*")):
        mode = path.lstat().st_mode
        if stat.S_ISLNK(mode):
            continue
        wanted = 0o755 if stat.S_ISDIR(mode) or mode & stat.S_IXUSR else 0o644
        if stat.S_IMODE(mode) != wanted:
            path.chmod(wanted)


def _pip_install(shop: Workshop, requirements: Path, progress: Progress) -> None:
    shop.commands.run(
        [
            *(shop.uv, "pip", "install", "--no-config", "--offline", "--no-index"),
            *("--find-links", shop.wheels.path, "--no-deps", "--require-hashes", "--compile-bytecode"),
            *("--python", shop.environment, "--requirements", requirements),
        ],
        variables=_settings(shop),
        on_tick=progress.tick,
    )


def _settings(shop: Workshop) -> dict[str, str]:
    """uv's own cache lies beside the environment, so that files are linked there and not written twice."""
    return {
        "UV_CACHE_DIR": str(shop.folder / "uv"),
        "UV_PYTHON_DOWNLOADS": "never",
        "UV_NO_PROGRESS": "1",
        "HOME": str(shop.folder),
    }


def compilers() -> int:
    """As many as the cores and the free memory carry: one takes 1.5 GB of this code."""
    free = psutil.virtual_memory().available
    return max(1, min(len(os.sched_getaffinity(0)), free // 1_500_000_000))
