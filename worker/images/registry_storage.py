"""Delete damaged blobs from the registry's own files, so that the next push replaces them. The registry does not
check what it serves.

https://distribution.github.io/distribution/storage-drivers/filesystem/
"""

import tarfile
from pathlib import Path

from cluster.domain.images import DefaultImage
from worker.environments.wheels import sha256_of_file
from worker.images.site_registry import RegistryFailed
from worker.oci.image_archive import BlobDescriptor, parse_descriptors, read_archive_json


def delete_damaged_blobs(storage: Path, archive: Path, image: DefaultImage, is_thorough: bool) -> list[str]:
    """Deletes damaged blobs and returns their digests. The next push sends these blobs again.

    The manifest is checked by its SHA-256; other blobs by their size, or by their SHA-256 too if `is_thorough`, which
    takes seconds. Raises RegistryFailed if the archive cannot be read.
    """
    every = [
        (BlobDescriptor(image.digest, None), True),
        *((part, is_thorough) for part in read_descriptors(archive, image)),
    ]
    damaged = [
        part.digest for part, reads in every if is_blob_damaged(blob_path(storage, part.digest), part, reads)
    ]
    for digest in damaged:
        blob_path(storage, digest).unlink()
    return damaged


def read_descriptors(archive: Path, image: DefaultImage) -> list[BlobDescriptor]:
    """The blobs of the archive's image. Raises RegistryFailed if the archive cannot be read."""
    try:
        with tarfile.open(archive) as opened:
            return parse_descriptors(
                read_archive_json(opened, f"blobs/sha256/{image.digest.removeprefix('sha256:')}")
            )
    except (tarfile.TarError, KeyError, ValueError) as error:
        raise RegistryFailed("registry.archive_damaged", path=str(archive)) from error


def is_blob_damaged(file: Path, part: BlobDescriptor, reads: bool) -> bool:
    """Whether the file has another size, or another sum if `reads`. A missing file is not damaged."""
    if not file.is_file():
        return False
    if part.size is not None and file.stat().st_size != part.size:
        return True
    return reads and f"sha256:{sha256_of_file(file)}" != part.digest


def blob_path(storage: Path, digest: str) -> Path:
    plain = digest.removeprefix("sha256:")
    return storage / "docker" / "registry" / "v2" / "blobs" / "sha256" / plain[:2] / plain / "data"
