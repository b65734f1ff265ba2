"""Blobs of the registry's own files that are not what their digests say are deleted, and nothing else."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from cluster.domain.images import DefaultImage
from worker.images.registry_storage import (
    blob_path,
    delete_damaged_blobs,
    is_blob_damaged,
    read_descriptors,
)
from worker.images.site_registry import RegistryFailed
from worker.oci.image_archive import BlobDescriptor, ImageConfig, write_oci_archive
from worker.oci.layers import digest_of_file, plain_layer

AT = datetime(2026, 11, 21, tzinfo=UTC)


@pytest.fixture
def image(tmp_path: Path) -> DefaultImage:
    """Its archive is image.tar, and the registry has every blob of it."""
    (tmp_path / "layer").write_bytes(b"a layer")
    layer = plain_layer(tmp_path / "layer")
    packed = write_oci_archive(tmp_path / "image.tar", "a:1", [layer], ImageConfig())
    image = DefaultImage("a", "cpu", "1", packed.digest, packed.size, "debian-12", AT, ())
    for part in read_descriptors(tmp_path / "image.tar", image):
        place(tmp_path, part.digest).write_bytes(b"?" * (part.size or 0))
    place(tmp_path, layer.digest).write_bytes(b"a layer")
    return image


def place(folder: Path, digest: str) -> Path:
    path = blob_path(folder / "storage", digest)
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def test_a_blob_lies_where_the_registry_keeps_it(tmp_path: Path) -> None:
    assert blob_path(tmp_path, "sha256:0123") == tmp_path / "docker/registry/v2/blobs/sha256/01/0123/data"


def test_the_archive_says_what_belongs_to_the_image(image: DefaultImage, tmp_path: Path) -> None:
    configuration, layer = read_descriptors(tmp_path / "image.tar", image)
    assert (layer.digest, layer.size) == (digest_of_file(tmp_path / "layer"), 7)
    assert (configuration.size or 0) + 7 == image.size


def test_by_length_alone_bytes_are_believed_and_thoroughly_they_are_not(
    image: DefaultImage, tmp_path: Path
) -> None:
    archive, storage = tmp_path / "image.tar", tmp_path / "storage"
    configuration, layer = read_descriptors(archive, image)
    assert delete_damaged_blobs(storage, archive, image, is_thorough=False) == []
    assert delete_damaged_blobs(storage, archive, image, is_thorough=True) == [configuration.digest]
    assert not blob_path(storage, configuration.digest).exists()
    assert blob_path(storage, layer.digest).read_bytes() == b"a layer"


def test_the_manifest_is_always_read(image: DefaultImage, tmp_path: Path) -> None:
    place(tmp_path, image.digest).write_bytes(b"{}")
    archive, storage = tmp_path / "image.tar", tmp_path / "storage"
    assert delete_damaged_blobs(storage, archive, image, is_thorough=False) == [image.digest]


@pytest.mark.parametrize(
    ("size", "reads", "is_damaged"),
    [(7, False, False), (8, False, True), (None, True, True), (7, True, True)],
)
def test_a_blob_is_damaged_by_its_length_or_its_bytes(
    tmp_path: Path, size: int | None, reads: bool, is_damaged: bool
) -> None:
    (tmp_path / "blob").write_bytes(b"a layer")
    assert is_blob_damaged(tmp_path / "blob", BlobDescriptor("sha256:0", size), reads) is is_damaged
    assert not is_blob_damaged(tmp_path / "lost", BlobDescriptor("sha256:0", size), reads)


def test_an_archive_without_its_manifest_is_named(image: DefaultImage, tmp_path: Path) -> None:
    (tmp_path / "image.tar").write_bytes(b"no archive")
    with pytest.raises(RegistryFailed) as failed:
        read_descriptors(tmp_path / "image.tar", image)
    assert failed.value.data == {"path": str(tmp_path / "image.tar")}
