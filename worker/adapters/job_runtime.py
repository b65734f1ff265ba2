"""Installs the job runtime (shim, `groundcrew_job`, built-in models) once beside the state, so that no job reads the
clone.
"""

import fcntl
import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path

from cluster.domain.jobs.unix_ids import DEFAULT_UNIX_IDS, IDS_PER_BASE, JobUnixIds
from cluster.files import safe_files

WORKER = Path(__file__).resolve().parents[1]
INSIDE_FOLDER = WORKER / "inside"
PACKAGES = {"groundcrew_models": WORKER / "models", "groundcrew_notebooks": WORKER / "notebooks"}
SHARED_FILES = (Path(safe_files.__file__), WORKER / "interactive" / "groundcrew_shell.py")
"""The files outside worker/inside that are installed too: one that services and shim share, and the program of
interactive jobs.
"""
JOB_IDS_FILE = Path("job-ids.json")
"""The file with the uids and gids that jobs may have. A shim that runs as root becomes no other user."""
LOCK, COPYING = ".lock", ".copying"
Contents = Mapping[Path, bytes]
"""The content of each file, by its path in the installed folder."""


def install_runtime(runtime_dir: Path, job_ids: JobUnixIds = DEFAULT_UNIX_IDS) -> Path:
    """Install the shim, ``groundcrew_job`` and the built-in models in ``<runtime_dir>/<hash of their contents>``.

    Returns that folder, which every user can read and which is on a job's PYTHONPATH. The call can be repeated and
    interrupted: the copy is made beside its final path and renamed. Folders that running jobs use are kept.
    """
    contents = runtime_contents(job_ids)
    target = runtime_dir / runtime_digest(contents)
    if target.exists():
        return target
    runtime_dir.mkdir(parents=True, exist_ok=True, mode=0o755)
    with safe_files.open_folder_path(runtime_dir) as folder:
        lock = os.open(LOCK, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644, dir_fd=folder)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not target.exists():
                safe_files.remove_tree(folder, COPYING)
                write_contents(folder, COPYING, contents)
                safe_files.move_at(folder, COPYING, folder, target.name)
        finally:
            os.close(lock)
    return target


def write_contents(parent: int, name: str, contents: Contents) -> None:
    """Writes folders that everybody may enter and files that everybody may read, whatever the umask is."""
    made = {Path(): safe_files.make_folder(parent, name, 0o755)}
    try:
        for path, content in contents.items():
            for within in [*reversed(path.parents)][1:]:
                if within not in made:
                    made[within] = safe_files.make_folder(made[within.parent], within.name, 0o755)
            safe_files.replace_file(made[path.parent], path.name, content, 0o644)
    finally:
        for descriptor in made.values():
            os.close(descriptor)


def runtime_folder(runtime_dir: Path, job_ids: JobUnixIds) -> Path:
    """The folder of this code's runtime, whether it is installed or not."""
    return runtime_dir / runtime_digest(runtime_contents(job_ids))


def runtime_contents(job_ids: JobUnixIds) -> Contents:
    found = {path: file.read_bytes() for path, file in runtime_sources().items()}
    numbers = {"uid_base": job_ids.uid_base, "gid_base": job_ids.gid_base, "count": IDS_PER_BASE}
    return found | {JOB_IDS_FILE: json.dumps(numbers, sort_keys=True).encode()}


def runtime_sources() -> dict[Path, Path]:
    """The file of the clone for each path in the runtime folder."""
    found = {
        Path(file.name): file for file in sorted(INSIDE_FOLDER.glob("*.py")) if file.name != "__init__.py"
    }
    found |= {Path(file.name): file for file in SHARED_FILES}
    for package, folder in PACKAGES.items():
        for file in sorted(folder.rglob("*")):
            if file.is_file() and "__pycache__" not in file.parts:
                found[Path(package) / file.relative_to(folder)] = file
    return found


def runtime_digest(contents: Contents) -> str:
    digest = hashlib.sha256()
    for relative, content in contents.items():
        digest.update(os.fsencode(relative) + b"\0" + hashlib.sha256(content).digest())
    return digest.hexdigest()[:12]
