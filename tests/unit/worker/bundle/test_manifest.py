"""The manifest names every file of a bundle; two of them are compared by kind and name."""

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.unit.worker.small_bundle import a_bundle
from worker.bundle import check
from worker.bundle.check import NotABundle
from worker.bundle.manifest import (
    BundleFile,
    BundleFileKind,
    BundleManifest,
    image_file_name,
    list_differences,
    make_bundle_file,
    make_bundle_manifest,
    parse_bundle_manifest,
)

NOW = datetime(2026, 11, 21, 20, 0, tzinfo=UTC)


def a_file(name: str, version: str, kind: BundleFileKind = BundleFileKind.DEB, **more: str) -> BundleFile:
    path = more.get("path", f"apt/debian-12/{name}_{version}")
    return BundleFile(path, kind, name, version, more.get("sha256", version), 1, "MIT", "a test")


def a_manifest(*files: BundleFile, systems: tuple[str, ...] = ("debian-12",)) -> BundleManifest:
    return make_bundle_manifest("0.1.0", NOW, "build", systems, files)


def test_what_was_written_is_read_back(tmp_path: Path) -> None:
    written = a_bundle(tmp_path, {"files/a_1.yaml": "a", "apt/b_2.deb": "bb"})
    assert parse_bundle_manifest(check.read_manifest_file(tmp_path)) == written
    assert (tmp_path / "manifest.json").stat().st_mode & 0o777 == 0o644
    assert written.size() == 3 and [entry.name for entry in written.files] == ["b", "a"]


def test_a_file_has_its_sum_and_its_path_below_the_bundle(tmp_path: Path) -> None:
    (tmp_path / "files").mkdir()
    (tmp_path / "files/a").write_text("a")
    made = make_bundle_file(
        tmp_path, tmp_path / "files/a", BundleFileKind.FILE, name="a", version="1", licence="", source=""
    )
    assert (made.path, made.size, made.sha256) == ("files/a", 1, check.sha256_of(tmp_path / "files/a"))


def test_a_version_is_the_products_with_the_time_of_collecting() -> None:
    manifest = a_manifest()
    assert (manifest.version, manifest.made) == ("0.1.0+20261121T200000Z", "2026-11-21T20:00:00+00:00")


def test_a_kind_of_file_that_is_not_known_is_of_a_newer_version(tmp_path: Path) -> None:
    a_bundle(tmp_path, {"files/a_1.yaml": "a"})
    read = json.loads((tmp_path / "manifest.json").read_text())
    read["files"][0]["kind"] = "hologram"
    with pytest.raises(NotABundle, match="newer version"):
        parse_bundle_manifest(read)


@pytest.mark.parametrize(
    ("old", "new", "lines"),
    [
        ([a_file("a", "1")], [a_file("a", "1")], []),
        ([a_file("a", "1")], [a_file("a", "2")], ["~ deb    a 1 -> 2"]),
        ([a_file("a", "1")], [a_file("a", "1", sha256="other")], ["~ deb    a 1 (other content)"]),
        ([a_file("a", "1")], [a_file("b", "1")], ["- deb    a 1", "+ deb    b 1"]),
        ([], [a_file("a", "1"), a_file("a", "2")], ["+ deb    a 1", "+ deb    a 2"]),
        ([], [a_file("Packages", "", BundleFileKind.INDEX)], []),
    ],
)
def test_two_bundles_differ_by_what_comes_goes_and_changes(
    old: list[BundleFile], new: list[BundleFile], lines: list[str]
) -> None:
    assert list_differences(a_manifest(*old), a_manifest(*new)) == lines


def test_a_package_of_two_systems_is_two_packages() -> None:
    files = [a_file("a", "1", path=f"apt/{system}/a_1") for system in ("debian-12", "ubuntu-24.04")]
    both = a_manifest(*files, systems=("debian-12", "ubuntu-24.04"))
    assert list_differences(a_manifest(systems=both.systems), both) == [
        "+ deb    debian-12 a 1",
        "+ deb    ubuntu-24.04 a 1",
    ]


def test_an_image_has_a_file_name_of_plain_letters() -> None:
    assert (
        image_file_name("registry.k8s.io/coredns/coredns:v1.12.4")
        == "registry.k8s.io-coredns-coredns-v1.12.4"
    )
