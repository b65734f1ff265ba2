"""A bundle has the pinned wheels of all our environments and what this machine compiled, and no others."""

import zipfile
from pathlib import Path

import pytest

from tests.unit.worker.environments.fake_tools import Site, make_site
from worker.bundle import check, licences, wheels
from worker.bundle.assembly import BundleAssembly
from worker.bundle.build_cache import BuildCache, CollectingFailed
from worker.bundle.wheels import (
    REQUIREMENTS,
    add_compiled_wheel,
    fetch_bundle_wheels,
    parse_wheel_name,
    read_wheel_licence,
    select_pinned_files,
)


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch) -> Site:
    """Its description pins what the stand-in for pip fetches."""
    site = make_site()
    for name, content in (("requirements.txt", "the wheel of six\n"), ("slow.txt", "the source\n")):
        (site.folder / "content").write_text(content)
        pin = "six==1.17.0" if name == "requirements.txt" else "slow==1.0"
        text = f"{pin} --hash=sha256:{check.sha256_of(site.folder / 'content')}\n"
        (site.folder / "small" / name).write_text(text)
    return site


@pytest.fixture
def build_cache(tmp_path: Path) -> BuildCache:
    return BuildCache(tmp_path / "cache", tmp_path / "log/bundle.log")


def test_the_wheels_of_every_environment_are_fetched_by_one_pip(
    site: Site, build_cache: BuildCache, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kept = [tmp_path / "wheels-1"]
    folder = build_cache.cache / "wheels/files"
    files = fetch_bundle_wheels(site.description, folder, kept, build_cache, site.python)
    assert [file.name for file in files] == ["six-1.17.0-py2.py3-none-any.whl", "slow-1.0.tar.gz"]
    calls = (site.folder / "control/calls").read_text().splitlines()
    fetched = [line for line in calls if "--only-binary :all: --progress-bar" in line]
    pins = [*(f"/requirements/{name}" for name in REQUIREMENTS), "/small/requirements.txt"]
    assert [line.endswith(name) for line, name in zip(fetched, pins, strict=True)] == [True] * len(pins)
    assert all(f"--find-links {kept[0]}" in line for line in fetched)
    shown = capsys.readouterr().out
    assert "download" in shown


def test_what_a_killed_pip_has_left_is_deleted_by_the_next_build(site: Site, build_cache: BuildCache) -> None:
    work = build_cache.cache / "wheels"
    for name in ("tmp/pip-unpack-1", "pip-unpack-2", "files"):
        (work / name).mkdir(parents=True)
        (work / name / "half.whl").touch()
    fetch_bundle_wheels(site.description, work / "files", [], build_cache, site.python)
    assert [path.name for path in work.rglob("half.whl")] == ["half.whl"]
    assert (work / "files/half.whl").exists()


def test_a_package_index_that_does_not_answer_is_said_in_words(site: Site, build_cache: BuildCache) -> None:
    site.trouble("no_network")
    with pytest.raises(CollectingFailed, match="the wheels: The package server does not answer") as failed:
        fetch_bundle_wheels(
            site.description, build_cache.cache / "wheels/files", [], build_cache, site.python
        )
    assert str(build_cache.log) in str(failed.value)


def test_what_is_no_longer_pinned_stays_out(tmp_path: Path) -> None:
    for name in ("numpy-1.whl", "numpy-2.whl", "horovod-0.tar.gz"):
        (tmp_path / name).write_text(name)
    pins = [
        f"{name} --hash=sha256:{check.sha256_of(tmp_path / name)}"
        for name in ("numpy-2.whl", "horovod-0.tar.gz")
    ]
    assert [file.name for file in select_pinned_files(tmp_path, pins)] == ["horovod-0.tar.gz", "numpy-2.whl"]


def a_wheel(path: Path, metadata: str) -> Path:
    with zipfile.ZipFile(path, "w") as wheel:
        wheel.writestr("six-1.17.0.dist-info/METADATA", metadata)
    return path


def test_name_version_and_licence_of_a_wheel_are_read(tmp_path: Path) -> None:
    wheel = a_wheel(tmp_path / "six-1.17.0-py3-none-any.whl", "Name: six\nLicense-Expression: MIT\n")
    assert parse_wheel_name(wheel) == ("six", "1.17.0") and read_wheel_licence(wheel) == "MIT"
    source = tmp_path / "slow-1.0.tar.gz"
    assert parse_wheel_name(source) == ("slow", "1.0") and read_wheel_licence(source) == licences.UNKNOWN


def test_what_this_machine_compiled_is_in_a_folder_of_its_kind(
    site: Site, build_cache: BuildCache, tmp_path: Path
) -> None:
    (tmp_path / "bundle").mkdir()
    assembly = BundleAssembly(tmp_path / "bundle", build_cache)
    place = tmp_path / "wheels-012345678901"
    place.mkdir()
    add_compiled_wheel(assembly, site.description, place)
    assert assembly.entries == []
    wheel = a_wheel(place / "slow-1.0-py3-none-any.whl", "Name: slow\n")
    wheel.with_name(f"{wheel.name}.sha256").write_text(check.sha256_of(wheel))
    add_compiled_wheel(assembly, site.description, place)
    (entry,) = assembly.entries
    assert entry.path == f"files/compiled/{place.name}/{wheel.name}"
    assert (entry.name, entry.version) == ("slow, compiled", "1.0")


def test_every_wheel_is_in_the_bundle_with_its_sum(
    site: Site, build_cache: BuildCache, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "bundle").mkdir()
    assembly = BundleAssembly(tmp_path / "bundle", build_cache)
    wheel = a_wheel(tmp_path / "six-1.17.0-py3-none-any.whl", "Name: six\n")
    monkeypatch.setattr(wheels, "fetch_bundle_wheels", lambda *_: [wheel])
    wheels.add_wheels(assembly, build_cache)
    (entry,) = [entry for entry in assembly.entries if entry.name == "six"]
    assert (entry.path, entry.sha256) == (f"wheels/{wheel.name}", check.sha256_of(wheel))
    assert (tmp_path / "bundle" / entry.path).read_bytes() == wheel.read_bytes()
