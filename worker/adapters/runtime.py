"""What a job imports is installed once beside the state, so that no job ever reads the clone."""

import fcntl
import hashlib
import os
import shutil
from pathlib import Path

WORKER = Path(__file__).resolve().parents[1]
FLAT = WORKER / "inside"
PACKAGES = {"groundcrew_models": WORKER / "models"}


def install_runtime(runtime_dir: Path) -> Path:
    """Copy the shim, ``groundcrew_job`` and the built-in models to ``<runtime_dir>/<hash of what they say>``.

    Returns that folder, readable by every user; it goes on a job's PYTHONPATH. Safe to repeat and to
    interrupt: the copy is made beside its place and renamed, and what running jobs read stays.
    """
    target = runtime_dir / digest_of_sources()
    if target.exists():
        return target
    runtime_dir.mkdir(parents=True, exist_ok=True, mode=0o755)
    with (runtime_dir / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not target.exists():
            copy = runtime_dir / ".copying"
            shutil.rmtree(copy, ignore_errors=True)
            copy_sources(copy)
            copy.rename(target)
    return target


def copy_sources(copy: Path) -> None:
    for relative, source in sources().items():
        (copy / relative).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, copy / relative)
    for each in (copy, *copy.rglob("*")):
        each.chmod(0o755 if each.is_dir() else 0o644)


def sources() -> dict[Path, Path]:
    """What is installed: the path in the runtime folder and the file of the clone."""
    found = {Path(file.name): file for file in sorted(FLAT.glob("*.py")) if file.name != "__init__.py"}
    for package, folder in PACKAGES.items():
        for file in sorted(folder.rglob("*")):
            if file.is_file() and "__pycache__" not in file.parts:
                found[Path(package) / file.relative_to(folder)] = file
    return found


def digest_of_sources() -> str:
    digest = hashlib.sha256()
    for relative, source in sources().items():
        digest.update(os.fsencode(relative) + b"\0" + hashlib.sha256(source.read_bytes()).digest())
    return digest.hexdigest()[:12]
