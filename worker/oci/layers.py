"""Make the layers of container images. The same files give the same bytes."""

import gzip
import hashlib
import subprocess
import tarfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

CHUNK = 1 << 20
FASTEST_GZIP = 1
"""The level of gzip. It needs a fifth of the best level's time for a third more bytes."""
WITHOUT_ACCESS_TIMES = "--pax-option=exthdr.name=%d/PaxHeaders/%f,delete=atime,delete=ctime"
"""These times differ between two runs over the same files, and images do not need them."""


@dataclass(frozen=True)
class ImageLayer:
    """A tar of changes, uncompressed or compressed by gzip. Digests are as sha256:0123…"""

    path: Path
    digest: str
    """The digest of the file."""
    diff_id: str
    """The digest of the uncompressed tar, which the image's configuration names. For an uncompressed tar both are
    equal.
    """
    created_by: str = ""


def plain_layer(path: Path, created_by: str = "") -> ImageLayer:
    """An uncompressed tar as a layer."""
    digest = digest_of_file(path)
    return ImageLayer(path, digest, digest, created_by)


def digest_of_file(path: Path) -> str:
    with path.open("rb") as file:
        return f"sha256:{hashlib.file_digest(file, 'sha256').hexdigest()}"


def pack_folder_layer(
    root: Path, parts: Sequence[str], target: Path, created_by: str, without: Sequence[str] = ()
) -> ImageLayer:
    """Packs the parts of the root as one compressed layer into the file `target`, with numeric owners and sorted
    names.

    `without` are patterns of files that are left out, as ./dev/*.
    """
    left_out = [f"--exclude={pattern}" for pattern in without]
    tar = ["tar", "--create", "--numeric-owner", "--sort=name", "--one-file-system", "--xattrs", "--anchored"]
    how = ["--no-wildcards-match-slash", WITHOUT_ACCESS_TIMES, *left_out, f"--directory={root}"]
    command = [*tar, *how, "--", *parts]
    plain = hashlib.sha256()
    with subprocess.Popen(["nice", "-n", "10", *command], stdout=subprocess.PIPE) as tar_process:
        assert tar_process.stdout is not None
        with target.open("wb") as file, gzip.GzipFile("", "wb", FASTEST_GZIP, file, mtime=0) as packed:
            while chunk := tar_process.stdout.read(CHUNK):
                plain.update(chunk)
                packed.write(chunk)
    if tar_process.returncode != 0:
        raise subprocess.CalledProcessError(tar_process.returncode, command)
    return ImageLayer(target, digest_of_file(target), f"sha256:{plain.hexdigest()}", created_by)


@contextmanager
def open_layer_tar(path: Path) -> Iterator[tarfile.TarFile]:
    """Opens a layer to which files are added one by one, without times and owned by root."""
    with tarfile.open(path, "w", format=tarfile.GNU_FORMAT) as tar:
        yield tar


def add_parent_folders(tar: tarfile.TarFile, path: str) -> None:
    """Adds the folders above a file, because not every engine creates missing ones."""
    there = set(tar.getnames())
    for parent in reversed(Path(path).parents):
        if (name := parent.as_posix()) not in {".", *there}:
            info = tarfile.TarInfo(name)
            info.type, info.mode = tarfile.DIRTYPE, 0o755
            tar.addfile(info)


def add_file_to_layer(tar: tarfile.TarFile, path: str, content: Path, mode: int = 0o755) -> None:
    add_parent_folders(tar, path)
    info = tarfile.TarInfo(path)
    info.size, info.mode = content.stat().st_size, mode
    with content.open("rb") as file:
        tar.addfile(info, file)
