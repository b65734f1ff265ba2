"""Make the layers of container images: the same files make the same bytes."""

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
"""A third more bytes than the best level in a fifth of its time."""
WITHOUT_ACCESS_TIMES = "--pax-option=exthdr.name=%d/PaxHeaders/%f,delete=atime,delete=ctime"
"""Two runs over the same files differ in these times, and an image has no use for them."""


@dataclass(frozen=True)
class Layer:
    """A tar of changes, plain or compressed by gzip. Digests are as sha256:0123…"""

    path: Path
    digest: str
    """Of the file as it is."""
    diff_id: str
    """Of the tar in it, which the image's configuration names; the digest itself for a plain tar."""
    created_by: str = ""


def plain_layer(path: Path, created_by: str = "") -> Layer:
    """An uncompressed tar as a layer."""
    digest = digest_of_file(path)
    return Layer(path, digest, digest, created_by)


def digest_of_file(path: Path) -> str:
    with path.open("rb") as file:
        return f"sha256:{hashlib.file_digest(file, 'sha256').hexdigest()}"


def pack_folder_layer(
    root: Path, parts: Sequence[str], target: Path, created_by: str, without: Sequence[str] = ()
) -> Layer:
    """The parts of the root as one compressed layer in the file `target`; owners by number, names in order.

    `without` are patterns of what is left out, as ./dev/*.
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
    return Layer(target, digest_of_file(target), f"sha256:{plain.hexdigest()}", created_by)


@contextmanager
def open_layer_tar(path: Path) -> Iterator[tarfile.TarFile]:
    """For files that are added one by one: without times, all of them root's."""
    with tarfile.open(path, "w", format=tarfile.GNU_FORMAT) as tar:
        yield tar


def add_parent_folders(tar: tarfile.TarFile, path: str) -> None:
    """Those above a file, as few engines make them by themselves."""
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
