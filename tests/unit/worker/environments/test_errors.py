"""Each trouble of a build has its own name, with what the sentence about it needs; none is for ever."""

import errno
import shutil
from collections import namedtuple

import pytest

from tests.unit.worker.environments.fake_tools import DESCRIPTION, Site
from worker.environments import build as build_module
from worker.environments.errors import (
    BuildFailed,
    BuildStepFailed,
    BuiltButNotWorking,
    NoBuildMemory,
    NoNetwork,
    NoSpaceForBuild,
    PackageRefused,
    PythonUnsupported,
    ToolsMissing,
)
from worker.environments.manifest import is_environment_ready

Usage = namedtuple("Usage", "total used free")


@pytest.mark.parametrize(
    ("trouble", "kind", "code", "line"),
    [
        ("no_network", NoNetwork, "environment.no_network", "Failed to establish a new connection"),
        ("other_file", PackageRefused, "environment.package_refused", "DO NOT MATCH THE HASHES"),
        ("no_memory", NoBuildMemory, "environment.no_memory", "Killed signal terminated program"),
        ("bad_code", BuildStepFailed, "environment.step_failed", "mpi_ops.cc:1: error: no"),
        ("broken", BuiltButNotWorking, "environment.not_working", "NotFoundError: libx.so"),
    ],
)
def test_a_trouble_has_its_name_and_the_next_build_converges(
    site: Site, trouble: str, kind: type[BuildFailed], code: str, line: str
) -> None:
    site.trouble(trouble)
    with pytest.raises(kind) as failure:
        site.build()
    assert type(failure.value) is kind
    assert failure.value.code == code
    assert line in failure.value.data["line"]
    assert failure.value.data["log"] == str(site.log)
    assert line in site.log.read_text()
    site.no_trouble(trouble)
    assert is_environment_ready(site.build())


def test_a_disk_that_fills_up_is_named_with_its_free_bytes(site: Site) -> None:
    site.trouble("disk_full")
    with pytest.raises(NoSpaceForBuild) as failure:
        site.build()
    assert failure.value.data["free"] > 0
    assert failure.value.data["path"] == str(site.cache)
    site.no_trouble("disk_full")
    assert is_environment_ready(site.build())


def test_a_disk_that_fills_up_under_our_own_hands_has_the_same_name(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    def write_manifest(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(build_module, "write_environment_manifest", write_manifest)
    with pytest.raises(NoSpaceForBuild):
        site.build()
    monkeypatch.undo()
    assert is_environment_ready(site.build())


@pytest.mark.parametrize(("free", "wanted"), [(2999, 3000), (0, 3000)])
def test_too_little_space_is_said_before_anything_is_made(
    site: Site, monkeypatch: pytest.MonkeyPatch, free: int, wanted: int
) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _: Usage(10_000, 10_000 - free, free))
    with pytest.raises(NoSpaceForBuild) as failure:
        site.build()
    assert (failure.value.data["needed"], failure.value.data["free"]) == (wanted, free)
    assert site.calls("uv ") + site.calls("pip ") == 0


def test_what_is_there_needs_no_space(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    environment = site.build()
    shutil.rmtree(environment)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: Usage(10_000, 9_000, 1_000))
    assert is_environment_ready(site.build())


def test_a_missing_compiler_is_named_by_its_package(site: Site) -> None:
    (site.folder / "small" / "environment.toml").write_text(
        DESCRIPTION.replace('program = "ls"', 'program = "no-such-compiler"')
    )
    with pytest.raises(ToolsMissing) as failure:
        site.build()
    assert failure.value.data["packages"] == ["coreutils"]
    assert site.calls("uv ") + site.calls("pip ") == 0


def test_a_missing_header_is_named_by_its_package(site: Site) -> None:
    (site.folder / "small" / "environment.toml").write_text(
        DESCRIPTION.replace(
            'package = "coreutils"\nprogram = "ls"', 'package = "python3-dev"\nheader = "No.h"'
        )
    )
    with pytest.raises(ToolsMissing) as failure:
        site.build()
    assert failure.value.data["packages"] == ["python3-dev"]


def test_another_python_is_refused_with_what_would_do(site: Site) -> None:
    (site.folder / "small" / "environment.toml").write_text(
        DESCRIPTION.replace('["3.11", "3.12"]', '["3.6", "3.7"]')
    )
    with pytest.raises(PythonUnsupported) as failure:
        site.build()
    assert failure.value.data["supported"] == ["3.6", "3.7"]


def test_no_python_at_all_is_said_so(site: Site) -> None:
    site.python.unlink()
    with pytest.raises(ToolsMissing) as failure:
        site.build()
    assert failure.value.data["packages"] == ["python3"]


def test_a_library_that_is_not_installed_is_no_line_of_the_contents(site: Site) -> None:
    (site.folder / "small" / "environment.toml").write_text(DESCRIPTION + 'torch = "purpose.framework"\n')
    with pytest.raises(BuiltButNotWorking) as failure:
        site.build()
    assert "torch" in failure.value.data["line"]
