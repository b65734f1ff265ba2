"""What a site's settings say is done: from a bundle or built, and only what the registry lacks."""

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from cluster.domain.images import Image, Part
from worker.images import site as site_images
from worker.images.record import write_record
from worker.images.registry import Registry, RegistryFailed
from worker.images.site import Site, archives, ensure_archives, read_site

RECORD = Image(
    name="groundcrew-default",
    variant="cpu",
    tag="cpu-1",
    digest="sha256:1",
    size=5,
    system="debian-12",
    made_at=datetime(2026, 11, 21, tzinfo=UTC),
    contents=(Part("numpy", "2.0.2", "purpose.arrays"),),
)


def a_site(folder: Path, **more: object) -> Site:
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
    return read_site(folder / "images.json")


def test_a_bundle_brings_the_image_and_nothing_is_built(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(site_images, "build", lambda *_, **__: pytest.fail("nothing is built from a bundle"))
    site = a_site(tmp_path, bundle=str(tmp_path))
    assert ensure_archives(site, lambda *_: None) is False
    with pytest.raises(RegistryFailed) as missing:
        archives(site)
    assert missing.value.code == "registry.no_archive"
    archive = tmp_path / "groundcrew-default-cpu.tar"
    archive.touch()
    write_record(archive, RECORD)
    assert archives(site) == [(archive, RECORD)]


def test_only_what_the_registry_lacks_is_pushed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pushed: list[str] = []
    lacks = ["sha256:1"]
    monkeypatch.setattr(Registry, "missing", lambda *_: list(lacks))
    monkeypatch.setattr(Registry, "push", lambda _, archive, record: pushed.append(record.tag))
    site = a_site(tmp_path, bundle=str(tmp_path))
    (tmp_path / "groundcrew-default-cpu.tar").touch()
    write_record(tmp_path / "groundcrew-default-cpu.tar", RECORD)
    assert site_images.missing(site) == ["groundcrew-default-cpu"]
    assert site_images.push(site) is True
    lacks.clear()
    assert site_images.push(site) is False and site_images.missing(site) == []
    assert pushed == ["cpu-1"]


def test_an_unknown_variant_is_named(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="rocm"):
        a_site(tmp_path, variants=["cpu", "rocm"])
