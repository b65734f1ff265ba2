"""Build the environment that has JupyterLab, from pinned wheels. A build can be repeated, be interrupted and run twice
at the same time.
"""

import hashlib
import os
import shutil
from dataclasses import astuple
from pathlib import Path

from worker.environments.build_lock import disk_full_as_no_space, hold_build_lock
from worker.environments.build_platform import PYTHON, RECIPE_VERSION, BuildPlatform, read_build_platform
from worker.environments.build_steps import BuildStep, BuildStepProgress, ProgressCallback
from worker.environments.command_runner import CommandRunner, network_variables
from worker.environments.errors import BuiltButNotWorking
from worker.environments.installation import make_readable_to_all
from worker.environments.prerequisites import check_free_space
from worker.environments.wheels import sync_filesystem

REQUIREMENTS = Path(__file__).parent / "editor" / "requirements.txt"
DONE = "groundcrew-editor"
"""The file that is written last, so an environment that has it is complete."""
NEEDED_BYTES = 500_000_000
_TRY = "import jupyterlab.labapp, ipykernel.kernelapp, jupyter_server_terminals"


def editor_path(machine: BuildPlatform, cache: Path) -> Path:
    content = repr((RECIPE_VERSION, astuple(machine))).encode() + REQUIREMENTS.read_bytes()
    return cache / f"editor-{hashlib.sha256(content).hexdigest()[:12]}"


def is_editor_ready(path: Path) -> bool:
    return (path / DONE).is_file() and os.access(path / "bin" / "python", os.X_OK)


def build_editor(cache: Path, report: ProgressCallback, *, uv: Path, log: Path) -> Path:
    """Builds it unless a complete one is in the cache, and returns its folder. Raises BuildFailed."""
    target = editor_path(read_build_platform(PYTHON), cache)
    if is_editor_ready(target):
        return target
    cache.mkdir(mode=0o755, parents=True, exist_ok=True)
    log.parent.mkdir(parents=True, exist_ok=True)
    with hold_build_lock(cache, report) as mark, disk_full_as_no_space(cache, log):
        if not is_editor_ready(target):
            _build_new(target, uv, CommandRunner(log, mark), report)
    return target


def _build_new(target: Path, uv: Path, commands: CommandRunner, report: ProgressCallback) -> None:
    progress = BuildStepProgress(report, BuildStep.CHECK_TOOLS)
    progress.advance(0.0)
    check_free_space(target.parent, NEEDED_BYTES)
    folder = target.with_name(f"{target.name}.building")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(mode=0o755)
    environment = folder / "environment"
    variables = uv_variables(folder)
    progress = BuildStepProgress(report, BuildStep.INSTALL)
    progress.advance(0.0)
    make: list[str | Path] = [
        *(uv, "venv", "--no-project", "--relocatable"),
        *("--python", PYTHON, environment),
    ]
    commands.run(make, variables=variables)
    commands.run(
        [
            *(uv, "pip", "install", "--no-deps", "--require-hashes", "--compile-bytecode"),
            *("--only-binary", ":all:", "--python", environment, "--requirements", REQUIREMENTS),
        ],
        variables=variables,
        on_tick=progress.report_again,
    )
    make_readable_to_all(environment)
    progress = BuildStepProgress(report, BuildStep.VERIFY)
    progress.advance(0.0)
    lines = commands.run([environment / "bin" / "python", "-I", "-c", _TRY], variables={})
    if lines:
        raise BuiltButNotWorking(
            "environment.not_working", line=lines[-1].strip()[:300], log=str(commands.log)
        )
    (environment / DONE).write_text(target.name)
    sync_filesystem(folder)
    shutil.rmtree(target, ignore_errors=True)
    environment.rename(target)
    sync_filesystem(target)
    shutil.rmtree(folder)
    progress.advance(1.0)


def uv_variables(folder: Path) -> dict[str, str]:
    """The site's package index, and a cache beside the environment, so that uv links files and copies none."""
    site = {name: value for name, value in os.environ.items() if name.startswith("UV_")}
    return {
        **network_variables(),
        **site,
        "UV_CACHE_DIR": str(folder / "uv"),
        "UV_PYTHON_DOWNLOADS": "never",
        "UV_NO_PROGRESS": "1",
        "HOME": str(folder),
    }
