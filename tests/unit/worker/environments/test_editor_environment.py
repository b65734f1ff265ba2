"""JupyterLab's environment has a name by its pins, and appears whole or not at all."""

from dataclasses import replace
from pathlib import Path

import pytest

from worker.environments import editor_environment
from worker.environments.build_platform import PYTHON, read_build_platform
from worker.environments.editor_environment import REQUIREMENTS, editor_path, is_editor_ready
from worker.environments.errors import BuildFailed

UV = """#!/bin/sh
echo "$@" >> {log}
case "$*" in
  *venv*)
    for last; do :; done
    mkdir -p "$last/bin"
    printf '#!/bin/sh\\n{python}' > "$last/bin/python"
    chmod +x "$last/bin/python";;
esac
"""


def a_uv(tmp_path: Path, python: str = "exit 0") -> Path:
    """Makes an environment whose interpreter does what `python` says."""
    uv = tmp_path / "uv"
    uv.write_text(UV.format(log=tmp_path / "asked", python=python))
    uv.chmod(0o755)
    return uv


def build(tmp_path: Path, uv: Path) -> Path:
    return editor_environment.build_editor(
        tmp_path / "cache", lambda step, share, detail: None, uv=uv, log=tmp_path / "log" / "build.log"
    )


def test_its_name_changes_with_the_machine(tmp_path: Path) -> None:
    machine = read_build_platform(PYTHON)
    assert editor_path(machine, tmp_path) == editor_path(machine, tmp_path)
    assert editor_path(replace(machine, python="3.99"), tmp_path) != editor_path(machine, tmp_path)


def test_it_is_built_once_from_pins_with_hashes(tmp_path: Path) -> None:
    uv = a_uv(tmp_path)
    path = build(tmp_path, uv)
    assert is_editor_ready(path) and build(tmp_path, uv) == path
    venv, install = (tmp_path / "asked").read_text().splitlines()
    assert "venv" in venv and "--require-hashes" in install and str(REQUIREMENTS) in install
    assert not [left for left in path.parent.iterdir() if left.name.endswith(".building")]


def test_one_that_does_not_start_does_not_appear(tmp_path: Path) -> None:
    with pytest.raises(BuildFailed):
        build(tmp_path, a_uv(tmp_path, "echo ImportError; exit 1"))
    assert not is_editor_ready(editor_path(read_build_platform(PYTHON), tmp_path / "cache"))


def test_every_pin_has_a_hash() -> None:
    lines = REQUIREMENTS.read_text().splitlines()
    pins = [number for number, line in enumerate(lines) if line and not line.startswith((" ", "#"))]
    assert len(pins) > 50 and all("--hash=sha256:" in lines[number + 1] for number in pins)
