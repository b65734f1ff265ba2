"""A kernel is the environment's own, or the editor's behind everything that the environment has."""

import os
import subprocess
import sys
from pathlib import Path

from worker.notebooks import kernel

PYTHON = f"{sys.version_info[0]}.{sys.version_info[1]}"
SAYS = "def launch_new_instance():\n    import sys\n    print(__file__, sys.argv)\n"


def launched(tmp_path: Path, version: str, own: bool) -> "subprocess.CompletedProcess[str]":
    """kernel.py in an interpreter whose environment has ipykernel or not; the editor's is always there."""
    for folder in ("editor", "own"):
        (tmp_path / folder / "ipykernel").mkdir(parents=True)
        (tmp_path / folder / "ipykernel" / "__init__.py").touch()
        (tmp_path / folder / "ipykernel" / "kernelapp.py").write_text(SAYS)
    variables = {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": str(tmp_path / "own") if own else "",
        "GROUNDCREW_EDITOR_VERSION": version,
        "GROUNDCREW_EDITOR_LIBRARIES": str(tmp_path / "editor"),
    }
    command = ["/usr/bin/python3", "-S", kernel.__file__, "-f", "x.json"]
    return subprocess.run(command, env=variables, capture_output=True, text=True, check=False)


def test_the_environments_own_kernel_is_taken(tmp_path: Path) -> None:
    done = launched(tmp_path, PYTHON, own=True)
    assert done.stdout.startswith(str(tmp_path / "own")) and "'-f', 'x.json'" in done.stdout


def test_an_environment_without_one_borrows_the_editors(tmp_path: Path) -> None:
    assert launched(tmp_path, PYTHON, own=False).stdout.startswith(str(tmp_path / "editor"))


def test_another_version_of_python_says_what_to_do(tmp_path: Path) -> None:
    done = launched(tmp_path, "3.6", own=False)
    assert done.returncode == kernel.EXIT_NO_KERNEL
    assert "Add ipykernel to the environment" in done.stderr
