"""A bundle is there whole or not at all, whatever happens while another one is collected."""

import re
import shutil
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.unit.worker.small_bundle import a_bundle
from worker.bootstrap.system_packages import SystemRequirement
from worker.bundle import __main__ as command
from worker.bundle import check
from worker.bundle.assembly import assemble_bundle
from worker.bundle.build_cache import BuildCache, CollectingFailed
from worker.bundle.go_programs import FOLDERS, find_module_folder
from worker.bundle.manifest import BundleFileKind
from worker.bundle.sources import read_bundle_sources

NOW = datetime(2026, 11, 21, 20, 0, tzinfo=UTC)
OLD = {"files/a_1.yaml": "old"}


class Killed(BaseException):
    """As by a signal that nobody can catch."""


@pytest.fixture
def build_cache(tmp_path: Path) -> BuildCache:
    return BuildCache(tmp_path / "cache", tmp_path / "log")


def collect(target: Path, build_cache: BuildCache, content: str = "new") -> None:
    file = build_cache.log.with_name("a.yaml")
    file.write_text(content)
    with assemble_bundle(target, build_cache, "build", "0.1.0", ["debian-12"], NOW) as assembly:
        assembly.add_file(
            file, "files/a_2.yaml", BundleFileKind.FILE, name="a", version="2", licence="", source="a test"
        )


def content_of(bundle: Path) -> str:
    """Of the one file of a bundle that is whole."""
    manifest = check.read_manifest_file(bundle)
    assert list(check.find_faults(bundle, manifest)) == []
    return (bundle / manifest["files"][0]["path"]).read_text()


def test_a_new_bundle_takes_the_place_of_the_old_one_and_nothing_else_stays(
    tmp_path: Path, build_cache: BuildCache
) -> None:
    a_bundle(tmp_path / "site/bundle", OLD)
    collect(tmp_path / "site/bundle", build_cache)
    assert content_of(tmp_path / "site/bundle") == "new"
    assert [path.name for path in (tmp_path / "site").iterdir()] == ["bundle"]


def test_where_collecting_fails_the_old_one_stays(tmp_path: Path, build_cache: BuildCache) -> None:
    a_bundle(tmp_path / "bundle", OLD)
    with (
        pytest.raises(CollectingFailed),
        assemble_bundle(tmp_path / "bundle", build_cache, "build", "0.1.0", [], NOW),
    ):
        raise CollectingFailed("no network")
    assert content_of(tmp_path / "bundle") == "old"
    assert not (tmp_path / "bundle.building").exists()


def test_killed_while_the_old_one_is_deleted_the_new_one_stands(
    tmp_path: Path, build_cache: BuildCache, monkeypatch: pytest.MonkeyPatch
) -> None:
    a_bundle(tmp_path / "bundle", OLD)

    def delete_a_half(folder: Path, **_: object) -> None:
        if (folder / "manifest.json").exists():
            (folder / "manifest.json").unlink()
            raise Killed

    with monkeypatch.context() as cut, pytest.raises(Killed):
        cut.setattr(shutil, "rmtree", delete_a_half)
        collect(tmp_path / "bundle", build_cache)
    assert content_of(tmp_path / "bundle") == "new"
    collect(tmp_path / "bundle", build_cache, "newer")
    assert content_of(tmp_path / "bundle") == "newer"
    assert not (tmp_path / "bundle.replaced").exists()


def test_killed_between_two_names_the_old_one_is_put_back(
    tmp_path: Path, build_cache: BuildCache, monkeypatch: pytest.MonkeyPatch
) -> None:
    a_bundle(tmp_path / "bundle", OLD)
    rename = Path.rename

    def rename_once(path: Path, target: Path) -> Path:
        if path.name == "bundle.building":
            raise Killed
        return rename(path, target)

    with monkeypatch.context() as cut, pytest.raises(Killed):
        cut.setattr(Path, "rename", rename_once)
        collect(tmp_path / "bundle", build_cache)
    with (
        pytest.raises(CollectingFailed),
        assemble_bundle(tmp_path / "bundle", build_cache, "build", "0.1.0", [], NOW),
    ):
        raise CollectingFailed("no network")
    assert content_of(tmp_path / "bundle") == "old"


def test_a_place_that_cannot_be_replaced_is_refused_before_the_work(
    tmp_path: Path, build_cache: BuildCache, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(CollectingFailed, match="no folder"):
        collect(tmp_path / "file", build_cache)
    monkeypatch.setattr(Path, "is_mount", lambda path: path.name == "disk")
    with pytest.raises(CollectingFailed, match="name a folder on it"):
        collect(tmp_path / "disk", build_cache)


def test_a_folder_that_is_known_by_another_name_is_replaced_where_it_lies(
    tmp_path: Path, build_cache: BuildCache
) -> None:
    a_bundle(tmp_path / "disk/bundle", OLD)
    (tmp_path / "bundle").symlink_to(tmp_path / "disk/bundle")
    collect(tmp_path / "bundle", build_cache)
    assert (tmp_path / "bundle").is_symlink() and content_of(tmp_path / "disk/bundle") == "new"


class Recorder(BuildCache):
    def run(self, command: object, **options: object) -> str:
        self.cache.write_text(str(options["folder"]))
        return '{"Dir": "/go/flannel"}'


def test_a_modules_own_files_are_held_to_the_pinned_sums_too(tmp_path: Path) -> None:
    """Go compares with the go.sum of the folder in which it is called."""
    build_cache = Recorder(tmp_path / "said", tmp_path / "log")
    module = read_bundle_sources().modules["flannel"]
    assert find_module_folder(module, FOLDERS / "flannel", build_cache) == Path("/go/flannel")
    called_in = Path(build_cache.cache.read_text())
    assert f"{module.path} {module.version} h1:" in (called_in / "go.sum").read_text()


def test_a_folder_that_cannot_be_made_is_said_in_words(
    tmp_path: Path,
    build_cache: BuildCache,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(command, "open_build_cache", lambda parts, needs: build_cache)
    assert command.main(["build", "/proc/bundle", "--only", "wheels"]) == 1
    assert "/proc/bundle.building" in capsys.readouterr().err


def test_the_tools_of_the_last_part_are_installed_before_the_first(monkeypatch: pytest.MonkeyPatch) -> None:
    installed: list[SystemRequirement] = []
    monkeypatch.setattr(command, "ensure_packages", lambda needs, log: installed.extend(needs))
    command.open_build_cache(["wheels"], command.BUILD_NEEDS)
    assert installed == []
    command.open_build_cache(["wheels", "default-image"], command.BUILD_NEEDS)
    assert {"mmdebstrap", "iproute2"} == {package for need in installed for package in need.packages}


def test_a_machine_of_another_kind_makes_no_bundle_that_none_could_use(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("platform.machine", lambda: "aarch64")
    assert command.main(["build", str(tmp_path / "bundle"), "--only", "wheels"]) == 1
    assert "this one is aarch64" in capsys.readouterr().err


def test_a_mirror_without_an_address_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        command.main(["download", "/srv/bundle", "--instead", "registry.k8s.io"])
    assert "registry.k8s.io is not as" in capsys.readouterr().err


def test_an_installed_command_says_that_it_makes_no_bundles(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(command, "CLONE", tmp_path)
    assert command.main(["build", str(tmp_path / "bundle")]) == 1
    assert re.search("made in a checkout", capsys.readouterr().err)


def test_skopeo_is_there_before_images_are_downloaded_and_not_before_they_are_built(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    installed: list[SystemRequirement] = []
    monkeypatch.setattr(command, "ensure_packages", lambda needs, log: installed.extend(needs))
    command.open_build_cache(["images"], command.BUILD_NEEDS)
    assert installed == []
    command.open_build_cache(["images"], command.DOWNLOAD_NEEDS)
    assert [each.packages for each in installed] == [("skopeo",)]
