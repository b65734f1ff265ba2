"""Both collectors add the distribution's packages and the default image in the same way."""

import json
import shutil
from datetime import UTC, datetime
from pathlib import Path

import pytest

from cluster.domain.images import DefaultImage
from worker.bundle import shared_parts
from worker.bundle.apt_packages import FetchedPackage
from worker.bundle.assembly import BundleAssembly
from worker.bundle.build_cache import BuildCache, CollectingFailed
from worker.bundle.manifest import BundleFileKind
from worker.bundle.shared_parts import add_default_image, add_distribution_packages
from worker.environments.errors import BuildFailed
from worker.images.image_record import write_image_record

AT = datetime(2026, 11, 21, tzinfo=UTC)
RECORD = DefaultImage("groundcrew-default", "cpu", "cpu-1", "sha256:1", 5, "debian-12", AT, ())


@pytest.fixture
def assembly(tmp_path: Path) -> BundleAssembly:
    (tmp_path / "bundle").mkdir()
    (tmp_path / "cache/bundle").mkdir(parents=True)
    return BundleAssembly(tmp_path / "bundle", BuildCache(tmp_path / "cache/bundle", tmp_path / "log"))


def test_packages_have_the_archives_names_and_licences_are_read_once(
    assembly: BundleAssembly, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[str] = []

    def read_deb_licence(file: Path) -> str:
        read.append(file.name)
        return "MIT"

    monkeypatch.setattr(shared_parts, "read_deb_licence", read_deb_licence)
    file = tmp_path / "passwd_1%3a4.13-1_amd64.deb"
    file.write_text("a package")
    fetched = [FetchedPackage("passwd", "1:4.13-1", file)]
    for _ in range(2):
        add_distribution_packages(assembly, "debian-12", fetched, "the archive of debian-12")
    (entry, again) = assembly.entries
    assert entry == again and entry.kind is BundleFileKind.DEB
    assert (entry.path, entry.licence) == ("apt/debian-12/passwd_4.13-1_amd64.deb", "MIT")
    assert read == [file.name]
    assert json.loads((assembly.cache.cache / "licences.json").read_text()) == {file.name: "MIT"}


def test_the_default_image_comes_with_its_record(
    assembly: BundleAssembly, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def build_image(variant: object, cache: Path, report: object, **more: object) -> Path:
        assert cache == tmp_path / "cache/images" and more["known"] == tmp_path / "cache"
        archive = tmp_path / "groundcrew-default-cpu-1.tar"
        archive.write_text("an image")
        write_image_record(archive, RECORD)
        return archive

    monkeypatch.setattr(shared_parts, "build_image", build_image)
    monkeypatch.setattr(shutil, "which", lambda name: "/usr/bin/uv")
    add_default_image(assembly, assembly.cache)
    kinds = {entry.path: entry.kind for entry in assembly.entries}
    assert kinds == {
        "images/groundcrew-default-cpu.tar": BundleFileKind.IMAGE,
        "images/groundcrew-default-cpu.json": BundleFileKind.FILE,
    }
    assert {entry.version for entry in assembly.entries} == {RECORD.digest}


def test_an_image_that_cannot_be_built_is_said_in_words(
    assembly: BundleAssembly, monkeypatch: pytest.MonkeyPatch
) -> None:
    def build_image(*_: object, **more: object) -> Path:
        raise BuildFailed("environment.needs_root", log="")

    monkeypatch.setattr(shared_parts, "build_image", build_image)
    monkeypatch.setattr(shutil, "which", lambda name: "/usr/bin/uv")
    with pytest.raises(CollectingFailed, match="the default image: .*root"):
        add_default_image(assembly, assembly.cache)
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(CollectingFailed, match="uv is not on PATH"):
        add_default_image(assembly, assembly.cache)
