"""Download the pinned wheels of an environment once and check their sums before each use."""

import hashlib
import json
import re
import shutil
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from cluster.files.atomic import write_atomically
from worker.environments.build_steps import BuildStepProgress, PipProgressParser
from worker.environments.command_runner import CommandRunner, network_variables
from worker.environments.description import EnvironmentDescription, select_pins

SUMS = "SHA256SUMS.json"
TEMPORARY = "tmp"


@dataclass(frozen=True)
class WheelFolder:
    """A folder of wheels. Their sums are in `SHA256SUMS.json`, which is written last."""

    path: Path
    offered_at: Path | None = None
    """The folder in which a bundle keeps wheels that other machines compiled, one subfolder per kind of machine."""

    @property
    def partial(self) -> Path:
        """The folder of a download that was interrupted."""
        return self.path.with_name(f"{self.path.name}.partial")

    def is_intact(self) -> bool:
        """Whether every downloaded file is there and unchanged. Reads all files (a second for 350 MB)."""
        try:
            sums = json.loads((self.path / SUMS).read_text())
            return all(sha256_of_file(self.path / name) == wanted for name, wanted in sums.items())
        except (OSError, ValueError):
            return False

    def find_compiled(self, package: str) -> Path | None:
        """The wheel that this machine compiled. None if there is none or it is damaged."""
        for note in self.path.glob(f"{package}-*.whl.sha256"):
            wheel = note.with_suffix("")
            if wheel.is_file() and sha256_of_file(wheel) == note.read_text().strip():
                return wheel
        return None

    def find_offered(self, package: str) -> Path | None:
        """The wheel that a machine of the same kind compiled from the same packages. None if the bundle has none."""
        if self.offered_at is None:
            return None
        return next((self.offered_at / self.path.name).glob(f"{package}-*.whl"), None)

    def has_compiled(self, package: str) -> bool:
        """Whether a build of the environment compiles nothing."""
        return bool((self.is_intact() and self.find_compiled(package)) or self.find_offered(package))

    def find_source(self, package: str) -> Path:
        return next(self.path.glob(f"{package}-*.tar.gz"))

    def store_compiled(self, wheel: Path) -> Path:
        """Stores a new wheel, so that the next build does not compile again if this one is interrupted."""
        kept = self.path / wheel.name
        write_atomically(kept, wheel.read_bytes(), 0o644)
        write_atomically(kept.with_name(f"{kept.name}.sha256"), sha256_of_file(kept), 0o644)
        return kept


def download_wheels(
    description: EnvironmentDescription,
    wheels: WheelFolder,
    python: Path,
    commands: CommandRunner,
    progress: BuildStepProgress,
) -> None:
    """Downloads the pinned wheels. After an interruption the next call keeps the files that are already there."""
    files = wheels.partial / "files"
    download_pinned_files([description.requirements], description, files, python, commands, progress)
    write_atomically(files / SUMS, json.dumps(_sums(files), indent=1, sort_keys=True), 0o644)
    sync_filesystem(files)
    shutil.rmtree(wheels.path, ignore_errors=True)
    files.rename(wheels.path)
    shutil.rmtree(wheels.partial)


def download_pinned_files(
    requirements: Sequence[Path],
    description: EnvironmentDescription,
    files: Path,
    python: Path,
    commands: CommandRunner,
    progress: BuildStepProgress,
    kept: Sequence[Path] = (),
) -> None:
    """Fetch the wheels that `requirements` pin, and the description's one archive of sources, into the folder `files`.

    pip holds each to its hash and fetches none that `files` or a folder of `kept` has. pip's own files lie beside
    `files`. Raises BuildFailed.
    """
    work, text = files.parent, description.requirements.read_text()
    delete_unfinished_downloads(work)
    files.mkdir(parents=True, exist_ok=True)
    temporary = work / TEMPORARY
    temporary.mkdir()
    variables = {
        **network_variables(),
        "PIP_CACHE_DIR": str(work / "pip"),
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        "PIP_ROOT_USER_ACTION": "ignore",
        "PIP_NO_INPUT": "1",
        "TMPDIR": str(temporary),
    }
    run = partial(commands.run, variables=variables, on_tick=progress.report_again)
    pip = _make_pip(work, text, python, run)
    links = [word for folder in kept for word in ("--find-links", str(folder))]
    fetch = [*pip, "download", "--require-hashes", "--no-deps", "--dest", str(files), *links]
    on_line = PipProgressParser(progress, sum(map(count_pins, requirements)))
    for pins in requirements:
        run([*fetch, "--only-binary", ":all:", "--progress-bar", "raw", "-r", str(pins)], on_line=on_line)
    # pip asks the source archive for its name and version, and for that it runs the archive's own build tools.
    tools = work / "tools.txt"
    tools.write_text(select_pins(text, ("setuptools", "wheel", "packaging")))
    offline = ["--no-index", "--find-links", str(files), "--require-hashes", "--no-deps"]
    run([*pip, "install", *offline, "-r", str(tools)])
    run([*fetch, "--no-binary", ":all:", "--no-build-isolation", "-r", str(description.source)])


def delete_unfinished_downloads(work: Path) -> None:
    """Deletes the temporary folders of a pip that was killed. Earlier versions had them directly in `work`.

    The caller holds the lock of the cache, so no other pip uses them.
    """
    for folder in (work / TEMPORARY, *work.glob("pip-*")):
        shutil.rmtree(folder, ignore_errors=True)


def count_pins(requirements: Path) -> int:
    return len(re.findall(r"^\S+==", requirements.read_text(), re.MULTILINE))


def sha256_of_file(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def sync_filesystem(folder: Path) -> None:
    """Syncs the whole file system of the folder, because thirty thousand files are too many
    to be synced one by one.
    """
    subprocess.run(["/usr/bin/sync", "-f", folder], check=True)


def _make_pip(work: Path, requirements: str, python: Path, run: Callable[..., object]) -> list[str]:
    """Installs the pinned pip, which the pip that is bundled with the distribution's Python downloads, and returns
    its command.
    """
    tools, pins = work / "tools", work / "pip.txt"
    shutil.rmtree(tools, ignore_errors=True)
    run([python, "-m", "venv", tools])
    pip = [str(tools / "bin" / "python"), "-m", "pip"]
    pins.write_text(select_pins(requirements, ("pip",)))
    run([*pip, "install", "--require-hashes", "--no-deps", "--only-binary", ":all:", "-r", str(pins)])
    return pip


def _sums(files: Path) -> dict[str, str]:
    return {
        path.name: sha256_of_file(path) for path in sorted(files.iterdir()) if path.suffix in (".whl", ".gz")
    }
