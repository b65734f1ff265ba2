"""The registry's files on the master's disk: it gives out whatever lies there under a digest, and takes no other in.

https://distribution.github.io/distribution/storage-drivers/filesystem/
"""

import tarfile
from pathlib import Path

from cluster.domain.images import Image
from worker.environments.wheels import sha256_of
from worker.images.archive import Part, parts_of, read_text
from worker.images.registry import RegistryFailed


def discard_damaged(storage: Path, archive: Path, image: Image, is_thorough: bool) -> list[str]:
    """Digests of what was deleted there, so that a push brings it anew.

    By size alone, but the manifest by its bytes; where it is thorough all of them by their bytes, which takes seconds.
    Raises RegistryFailed where the archive is none.
    """
    every = [(Part(image.digest, None), True), *((part, is_thorough) for part in read_parts(archive, image))]
    damaged = [
        part.digest for part, reads in every if is_damaged(blob_file(storage, part.digest), part, reads)
    ]
    for digest in damaged:
        blob_file(storage, digest).unlink()
    return damaged


def read_parts(archive: Path, image: Image) -> list[Part]:
    """Raises RegistryFailed."""
    try:
        with tarfile.open(archive) as opened:
            return parts_of(read_text(opened, f"blobs/sha256/{image.digest.removeprefix('sha256:')}"))
    except (tarfile.TarError, KeyError, ValueError) as error:
        raise RegistryFailed("registry.archive_damaged", path=str(archive)) from error


def is_damaged(file: Path, part: Part, reads: bool) -> bool:
    """What is not there is lost, not damaged."""
    if not file.is_file():
        return False
    if part.size is not None and file.stat().st_size != part.size:
        return True
    return reads and f"sha256:{sha256_of(file)}" != part.digest


def blob_file(storage: Path, digest: str) -> Path:
    plain = digest.removeprefix("sha256:")
    return storage / "docker" / "registry" / "v2" / "blobs" / "sha256" / plain[:2] / plain / "data"
