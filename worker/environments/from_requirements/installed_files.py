"""Take over the files of a finished environment from the user who built it, and read what is in it."""

import os
import re
import stat
from dataclasses import dataclass
from pathlib import Path

from packaging.utils import canonicalize_name

from cluster.domain.images import LibraryVersion
from cluster.domain.names import shown_text
from cluster.files import safe_files
from worker.environments.errors import BuildFailed

PURPOSES = {
    "python": "purpose.language",
    **dict.fromkeys(("torch", "tensorflow", "tensorflow-cpu", "jax"), "purpose.framework"),
    **dict.fromkeys(("tf-keras", "keras"), "purpose.layers"),
    "horovod": "purpose.several_ranks",
    "numpy": "purpose.arrays",
    "scipy": "purpose.mathematics",
    "scikit-learn": "purpose.classic_learning",
    "pillow": "purpose.images",
    "h5py": "purpose.weights",
    "tensorboard": "purpose.curves",
    "jupyterlab": "purpose.notebooks",
}
DIST_INFO = re.compile(r"([A-Za-z0-9._]+)-([A-Za-z0-9.!+_]+)\.dist-info")


@dataclass(frozen=True)
class InstalledFiles:
    """The size in bytes on the disk, and the libraries: Python first, known ones next, then the others by name."""

    size: int
    contents: tuple[LibraryVersion, ...]


def take_over_files(environment: Path, builder: int | None) -> int:
    """Gives the tree to this process's user and lets everybody read it. Returns the bytes that it takes.

    No process of the builder runs any more. Raises BuildFailed for files that it cannot have made: a second name of
    another user's file, a device, a pipe.
    """
    size, taken = 0, set[tuple[int, int]]()
    try:
        for _, folders, files, descriptor in os.fwalk(environment, follow_symlinks=False):
            for name in [*folders, *files]:
                size += take_over_entry(descriptor, name, builder, taken)
    except RecursionError:
        raise BuildFailed("environment.strange_file", path="…", log="") from None
    descriptor = os.open(environment, safe_files.FOLDER)
    try:
        safe_files.set_owner_and_mode(descriptor, 0o755, own_ids(builder))
    finally:
        os.close(descriptor)
    return size


def take_over_entry(parent: int, name: str, builder: int | None, taken: set[tuple[int, int]]) -> int:
    """`taken` are the files that were found under another name already, because uv links equal files."""
    found = os.stat(name, dir_fd=parent, follow_symlinks=False)
    kind, file = stat.S_IFMT(found.st_mode), (found.st_dev, found.st_ino)
    is_strange = kind not in (stat.S_IFREG, stat.S_IFDIR, stat.S_IFLNK)
    if is_strange or (builder is not None and found.st_uid != builder and file not in taken):
        raise BuildFailed("environment.strange_file", path=shown_text(name), log="")
    taken.add(file)
    if builder is not None:
        os.chown(name, *own_ids(builder), dir_fd=parent, follow_symlinks=False)
    if kind != stat.S_IFLNK:
        is_run = kind == stat.S_IFDIR or found.st_mode & stat.S_IXUSR
        os.chmod(name, 0o755 if is_run else 0o644, dir_fd=parent)
    return found.st_blocks * 512


def own_ids(builder: int | None) -> tuple[int, int]:
    return (-1, -1) if builder is None else (os.geteuid(), os.getegid())


def read_contents(environment: Path, python: str) -> tuple[LibraryVersion, ...]:
    """Reads the contents from the names of folders alone. It neither runs nor opens a file of a package."""
    versions = {"python": python}
    with safe_files.open_folder_path(environment, "lib", f"python{short(python)}", "site-packages") as folder:
        for name in safe_files.list_names(folder):
            if match := DIST_INFO.fullmatch(name):
                versions[str(canonicalize_name(match[1]))] = match[2]
    known = [library for library in PURPOSES if library in versions]
    others = sorted(set(versions) - set(known))
    return tuple(
        LibraryVersion(library, versions[library], PURPOSES.get(library, "")) for library in [*known, *others]
    )


def short(version: str) -> str:
    return ".".join(version.split(".")[:2])
