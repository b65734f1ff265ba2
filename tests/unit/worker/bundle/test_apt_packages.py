"""apt itself reads the packages of a bundle as the role tells it to, and takes none that was changed since."""

import shutil
import subprocess
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.conftest import IS_CI
from tests.unit.roles.rendering import render
from worker.bundle import apt_packages
from worker.bundle.apt_packages import (
    APT_CHOICE,
    add_components,
    archive_file_name,
    find_distribution_sources,
    write_apt_index,
)
from worker.bundle.build_cache import BuildCache, CollectingFailed
from worker.bundle.own_packages import DebPackage, build_deb

NOW = datetime(2026, 11, 21, 20, 0, tzinfo=UTC)
SAID = """\
Inst gcc-12-base (12.2.0-14+deb12u1 Debian:12.12/oldstable [amd64])
Inst libc6 (2.36-9+deb12u13 Debian:12.12/oldstable, Debian-Security:12/oldstable-security [amd64]) []
Inst passwd (1:4.13+dfsg1-1+deb12u1 Debian:12.12/oldstable [amd64]) [adduser:amd64 ]
Conf gcc-12-base (12.2.0-14+deb12u1 Debian:12.12/oldstable [amd64])
Inst tzdata (2025b-0+deb12u2 Debian:12.12/oldstable [all])
"""


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    if shutil.which("apt-get") is None or shutil.which("dpkg-deb") is None:
        (pytest.fail if IS_CI else pytest.skip)("there is no apt on this machine")
    packages, program = tmp_path / "bundle/apt/debian-12", tmp_path / "program"
    packages.mkdir(parents=True)
    program.write_text("#!/bin/sh\n")
    build_cache = BuildCache(tmp_path / "cache", tmp_path / "log")
    package = DebPackage("gc-hello", "1.0-1", (), "a test", {"usr/bin/gc-hello": program})
    build_deb(package, packages / package.file_name, build_cache)
    write_apt_index(packages, "debian-12", NOW, build_cache)
    return tmp_path / "bundle"


def apt(bundle: Path, *words: str) -> "subprocess.CompletedProcess[str]":
    """With the role's source and none of the machine's own lists, packages or locks."""
    place = bundle.with_name("apt")
    for folder in ("state/lists/partial", "cache/archives/partial"):
        (place / folder).mkdir(parents=True, exist_ok=True)
    (place / "status").touch()
    read = {"stdout_lines": ["whole 0.1.0+20261121T200000Z debian-12"]}
    source = render("bundle", "bundle.sources", groundcrew_bundle=str(bundle), bundle_read=read)
    (place / "bundle.sources").write_text(source)
    values = {
        "Dir::State": place / "state",
        "Dir::State::status": place / "status",
        "Dir::Cache": place / "cache",
        "Dir::Etc::sourcelist": place / "bundle.sources",
        "Dir::Etc::sourceparts": "/dev/null",
        "APT::Architecture": "amd64",
        "APT::Sandbox::User": "root",
        "Debug::NoLocking": "true",
    }
    options = [f"-o{name}={value}" for name, value in values.items()]
    return subprocess.run(
        ["apt-get", "-q", "-y", *options, *words], capture_output=True, text=True, check=False
    )


def test_apt_finds_a_package_of_the_bundle_and_asks_for_no_signature(bundle: Path) -> None:
    updated = apt(bundle, "update")
    assert updated.returncode == 0 and "W:" not in updated.stderr, updated.stderr
    found = apt(bundle, "--download-only", "install", "gc-hello")
    assert found.returncode == 0, found.stderr


def test_apt_takes_no_package_that_was_changed_since(bundle: Path) -> None:
    assert apt(bundle, "update").returncode == 0
    file = bundle / "apt/debian-12/gc-hello_1.0-1_amd64.deb"
    content = file.read_bytes()
    file.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    refused = apt(bundle, "--download-only", "install", "gc-hello")
    assert refused.returncode != 0 and "Hash Sum mismatch" in refused.stderr, refused.stderr


def test_what_apt_chose_is_read_from_its_own_words() -> None:
    assert APT_CHOICE.findall(SAID) == [
        ("gcc-12-base", "12.2.0-14+deb12u1", "amd64"),
        ("libc6", "2.36-9+deb12u13", "amd64"),
        ("passwd", "1:4.13+dfsg1-1+deb12u1", "amd64"),
        ("tzdata", "2025b-0+deb12u2", "all"),
    ]


def test_a_file_has_the_name_that_the_archive_gives_it() -> None:
    assert archive_file_name(Path("passwd_1%3a4.13+dfsg1-1_amd64.deb")) == "passwd_4.13+dfsg1-1_amd64.deb"
    assert archive_file_name(Path("tzdata_2025b-0_all.deb")) == "tzdata_2025b-0_all.deb"


def test_the_sources_of_the_distribution_are_the_first_file_that_names_an_archive(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, two = tmp_path / "sources.list", tmp_path / "debian.sources"
    monkeypatch.setattr(apt_packages, "FILES", [str(one), str(two)])
    with pytest.raises(CollectingFailed, match="apt knows no archive"):
        find_distribution_sources()
    one.write_text("# deb http://deb.example/debian bookworm main\n")
    two.write_text("Types: deb\nURIs: http://deb.example/debian\n")
    assert find_distribution_sources() == two
    one.write_text("deb http://deb.example/debian bookworm main\n")
    assert find_distribution_sources() == one


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Suites: bookworm\nComponents: main\n", "Suites: bookworm\nComponents: main contrib\n"),
        ("Components: main contrib\n", "Components: main contrib\n"),
        ("deb http://x/debian bookworm main\n", "deb http://x/debian bookworm main contrib\n"),
        ("# deb http://x/debian bookworm main\n", "# deb http://x/debian bookworm main\n"),
    ],
)
def test_components_are_added_once(text: str, expected: str) -> None:
    assert add_components(text, ["contrib"]) == expected
