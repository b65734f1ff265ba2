"""The wheel that site.yml installs: it holds the packages and, as the portal's help, the howtos."""

import shutil
import sys
import zipfile
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[5]

pytestmark = pytest.mark.parametrize("module", ["groundcrew_wheel"], indirect=True)
PRETENDED_UV = """#!/bin/sh
# Packs the packages of the checkout, as `uv build` does without our setup.py.
while [ "$1" != --out-dir ]; do shift; done
mkdir "$2" && cd "$3" && exec {python} -m zipfile -c "$2/groundcrew-0.1.0-py3-none-any.whl" cluster portal worker
"""


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """Small, with the build description of this one."""
    checkout = tmp_path / "checkout"
    for package in ("cluster", "portal", "worker"):
        (checkout / package).mkdir(parents=True)
        (checkout / package / "__init__.py").write_text("")
    (checkout / "docs" / "howto").mkdir(parents=True)
    (checkout / "docs" / "howto" / "jobs.ko.md").write_text("# 작업\n")
    (checkout / "requirements").mkdir()
    for name in ("pyproject.toml", "setup.py", "README.md", "LICENSE", "requirements/portal.txt"):
        shutil.copyfile(ROOT / name, checkout / name)
    return checkout


@pytest.fixture
def python(tmp_path: Path) -> str:
    """An interpreter with a pretended uv beside it."""
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "uv").write_text(PRETENDED_UV.format(python=sys.executable))
    (folder / "uv").chmod(0o755)
    return str(folder / "python")


def test_a_build_puts_the_howtos_where_an_installed_portal_reads_them(
    module: Any, checkout: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    build = build_command(checkout, monkeypatch)
    build.build_lib, build.editable_mode = str(tmp_path / "lib"), False
    build.run()
    assert (tmp_path / "lib" / "portal" / "howto" / "jobs.ko.md").read_text() == "# 작업\n"
    assert "portal/howto/jobs.ko.md" in module.names_of(checkout)


def build_command(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """What setup.py hands to setuptools, which stands beside uv and Ansible and not beside the tests."""
    given: dict[str, Any] = {}
    for name in ("setuptools", "setuptools.command", "setuptools.command.build_py"):
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    vars(sys.modules["setuptools"])["setup"] = given.update
    plain = type("build_py", (SimpleNamespace,), {"run": lambda self: None})
    vars(sys.modules["setuptools.command.build_py"])["build_py"] = plain
    setup = checkout / "setup.py"
    exec(compile(setup.read_text(), setup, "exec"), {"__file__": str(setup)})
    return given["cmdclass"]["build_py"]()


def test_a_wheel_that_lacks_a_howto_is_refused(
    module: Any, checkout: Path, python: str, tmp_path: Path
) -> None:
    with pytest.raises(FileNotFoundError, match=r"portal/howto/jobs\.ko\.md"):
        module.build(checkout, tmp_path / "wheel", python)
    assert not (tmp_path / "wheel").exists()
    (checkout / "docs" / "howto" / "jobs.ko.md").unlink()
    module.build(checkout, tmp_path / "wheel", python)
    with zipfile.ZipFile(next((tmp_path / "wheel").glob("*.whl"))) as wheel:
        assert "worker/__init__.py" in wheel.namelist()


@pytest.mark.parametrize("name", ["docs/howto/jobs.ko.md", "setup.py", "worker/__init__.py"])
def test_another_content_is_another_version(module: Any, checkout: Path, name: str) -> None:
    before = module.version_of(checkout)
    assert module.version_of(checkout) == before
    (checkout / name).write_text("# another\n")
    assert module.version_of(checkout) != before
