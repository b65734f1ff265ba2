"""A site's images come from a bundle or are built, as its settings say, and only those that the registry lacks."""

import json
import os
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from cluster.domain.images import DefaultImage, LibraryVersion
from worker.environments.errors import BuildFailed
from worker.images import site_images
from worker.images.image_record import write_image_record
from worker.images.registry_storage import blob_path
from worker.images.site_images import ImageSite, ensure_archives, list_archives, read_image_site
from worker.images.site_registry import RegistryFailed, SiteRegistry
from worker.oci.image_archive import ImageConfig, write_oci_archive
from worker.oci.layers import pack_folder_layer

RECORD = DefaultImage(
    name="groundcrew-default",
    variant="cpu",
    tag="cpu-1",
    digest="sha256:1",
    size=5,
    system="debian-12",
    made_at=datetime(2026, 11, 21, tzinfo=UTC),
    contents=(LibraryVersion("numpy", "2.0.2", "purpose.arrays"),),
)


def a_site(folder: Path, **more: object) -> ImageSite:
    settings = {
        "registry": "gpu-master:5443",
        "trust": "/etc/groundcrew/registry/trust",
        "password": "/etc/groundcrew/registry/password",
        "variants": ["cpu"],
        "cache": str(folder / "cache"),
        "wheels": str(folder),
        "bundle": "",
        "uv": "/usr/bin/uv",
        "log": str(folder / "log"),
        **more,
    }
    (folder / "images.json").write_text(json.dumps(settings))
    return read_image_site(folder / "images.json")


def test_a_bundle_brings_the_image_and_nothing_is_built(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        site_images, "build_image", lambda *_, **__: pytest.fail("nothing is built from a bundle")
    )
    site = a_site(tmp_path, bundle=str(tmp_path))
    assert ensure_archives(site, lambda *_: None) is False
    with pytest.raises(RegistryFailed) as missing:
        list_archives(site)
    assert missing.value.code == "registry.no_archive"
    archive = tmp_path / "groundcrew-default-cpu.tar"
    archive.touch()
    write_image_record(archive, RECORD)
    assert list_archives(site) == [(archive, RECORD)]


def test_only_what_the_registry_lacks_is_pushed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pushed: list[str] = []
    lacks = ["sha256:1"]
    monkeypatch.setattr(SiteRegistry, "list_missing_digests", lambda *_: list(lacks))
    monkeypatch.setattr(SiteRegistry, "push_archive", lambda _, archive, record: pushed.append(record.tag))
    site = a_site(tmp_path, bundle=str(tmp_path))
    (tmp_path / "groundcrew-default-cpu.tar").touch()
    write_image_record(tmp_path / "groundcrew-default-cpu.tar", RECORD)
    assert site_images.list_missing_images(site) == ["groundcrew-default-cpu"]
    assert site_images.push_missing_images(site) is True
    lacks.clear()
    assert site_images.push_missing_images(site) is False and site_images.list_missing_images(site) == []
    assert pushed == ["cpu-1"]


def test_what_the_registry_has_damaged_is_discarded_before_it_is_pushed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    archive = tmp_path / "groundcrew-default-cpu.tar"
    (tmp_path / "layers").mkdir()
    (tmp_path / "layers/file").write_text("x = 1")
    layer = pack_folder_layer(tmp_path / "layers", ["file"], tmp_path / "layer", "a test")
    made = write_oci_archive(archive, "groundcrew-default:cpu-1", [layer], ImageConfig())
    record = replace(RECORD, digest=made.digest)
    write_image_record(archive, record)
    site = a_site(tmp_path, bundle=str(tmp_path), storage=str(tmp_path / "storage"))
    manifest, kept = (blob_path(tmp_path / "storage", each) for each in (made.digest, layer.digest))
    for file, content in ((manifest, b"{}"), (kept, layer.path.read_bytes())):
        file.parent.mkdir(parents=True)
        file.write_bytes(content)
    monkeypatch.setattr(SiteRegistry, "list_missing_digests", lambda *_: [made.digest])
    monkeypatch.setattr(SiteRegistry, "push_archive", lambda *_: None)
    assert site_images.push_missing_images(site)
    assert not manifest.exists() and kept.exists()
    kept.write_bytes(kept.read_bytes()[:-1] + b"?")
    site_images.push_missing_images(site)
    assert kept.exists(), "of the same length: only who is thorough reads it"
    site_images.push_missing_images(site, is_thorough=True)
    assert not kept.exists()
    kept.write_bytes(b"cut")
    site_images.push_missing_images(site)
    assert not kept.exists()


@pytest.mark.parametrize("content", [b"", b"cut off"], ids=["empty", "no archive"])
def test_an_archive_that_is_damaged_is_named(tmp_path: Path, content: bytes) -> None:
    archive = tmp_path / "groundcrew-default-cpu.tar"
    archive.write_bytes(content)
    write_image_record(archive, RECORD)
    with pytest.raises(RegistryFailed) as failed:
        site_images.push_missing_images(a_site(tmp_path, bundle=str(tmp_path), storage=str(tmp_path)))
    assert (failed.value.code, failed.value.data) == ("registry.archive_damaged", {"path": str(archive)})


def test_settings_of_an_earlier_version_have_no_place_of_the_registrys_files(tmp_path: Path) -> None:
    assert a_site(tmp_path).storage is None


def test_an_unknown_variant_is_named(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="rocm"):
        a_site(tmp_path, variants=["cpu", "rocm"])


@pytest.mark.skipif(os.geteuid() != 0, reason="only root builds images")
@pytest.mark.parametrize("place", ["cache", "log"])
def test_root_builds_no_image_below_a_folder_of_a_service(tmp_path: Path, place: str) -> None:
    """It could be swapped for a link while root writes and deletes in it."""
    folder = tmp_path / "of-a-service"
    folder.mkdir()
    os.chown(folder, 1, 1)
    site = a_site(tmp_path, **{place: str(folder / "images")})
    with pytest.raises(BuildFailed) as refused:
        ensure_archives(site, lambda *_: None)
    assert (refused.value.code, refused.value.data["path"]) == ("environment.place_of_another", str(folder))
