"""What a build needs is checked before it changes anything, and what is missing is named."""

from dataclasses import replace
from pathlib import Path

import pytest

from tests.unit.worker.environments.fake_tools import Site
from worker.environments import prerequisites
from worker.environments.description import CompiledPackage, CompilerRequirement
from worker.environments.errors import NoSpaceForBuild, PythonUnsupported, ToolsMissing
from worker.environments.prerequisites import (
    check_compiler,
    check_ensurepip,
    check_free_space,
    check_python_version,
)


@pytest.fixture
def facts(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> dict[str, str]:
    """Of an interpreter."""
    known = {"version": "3.11", "include": str(tmp_path / "include"), "library": str(tmp_path / "library")}
    monkeypatch.setattr(prerequisites, "read_python_facts", lambda python: known)
    return known


def test_an_interpreter_that_is_not_there_is_a_missing_package(site: Site) -> None:
    with pytest.raises(ToolsMissing) as missing:
        check_python_version(site.description, site.folder / "no-python")
    assert missing.value.data["packages"] == ["python3"]


def test_an_interpreter_of_another_version_is_named_with_those_that_would_do(
    site: Site, facts: dict[str, str]
) -> None:
    check_python_version(site.description, site.python)
    facts["version"] = "3.9"
    with pytest.raises(PythonUnsupported) as refused:
        check_python_version(site.description, site.python)
    assert (refused.value.data["version"], refused.value.data["supported"]) == ("3.9", ["3.11", "3.12"])


def test_a_python_without_its_pip_is_a_missing_package(
    site: Site, facts: dict[str, str], tmp_path: Path
) -> None:
    with pytest.raises(ToolsMissing) as missing:
        check_ensurepip(site.python)
    assert missing.value.data["packages"] == ["python3-venv"]
    (tmp_path / "library/ensurepip").mkdir(parents=True)
    (tmp_path / "library/ensurepip/__init__.py").touch()
    check_ensurepip(site.python)


def test_every_missing_tool_of_the_compiler_is_named_at_once(
    site: Site, facts: dict[str, str], tmp_path: Path
) -> None:
    needs = (
        CompilerRequirement("coreutils", program="ls"),
        CompilerRequirement("g++", program="no-such-compiler"),
        CompilerRequirement("python3-dev", header="Python.h"),
    )
    description = replace(site.description, compiled=CompiledPackage("slow", {}, needs))
    with pytest.raises(ToolsMissing) as missing:
        check_compiler(description, site.python)
    assert missing.value.data["packages"] == ["g++", "python3-dev"]
    (tmp_path / "include").mkdir()
    (tmp_path / "include/Python.h").touch()
    met = CompiledPackage("slow", {}, (needs[0], needs[2]))
    check_compiler(replace(description, compiled=met), site.python)


def test_a_disk_that_is_too_full_is_named_with_both_numbers(tmp_path: Path) -> None:
    check_free_space(tmp_path, 0)
    with pytest.raises(NoSpaceForBuild) as full:
        check_free_space(tmp_path, 1 << 60)
    assert full.value.data["needed"] == 1 << 60 and 0 < full.value.data["free"] < 1 << 60
