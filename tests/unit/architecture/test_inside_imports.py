"""Modules that run inside a job import the standard library and their neighbours, each by its bare name."""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from worker.adapters.job_runtime import INSIDE_FOLDER, SHARED_FILES

ROOT = Path(__file__).parents[3]
INSIDE = sorted(path for path in INSIDE_FOLDER.glob("*.py") if path.stem != "__init__")
NEIGHBOURS = {path.stem for path in (*INSIDE, *SHARED_FILES)}
SINCE_PYTHON_3_6 = {"dataclasses", "contextvars", "graphlib", "tomllib", "zoneinfo"}
"""Modules of the standard library that Python 3.6 has not."""


def imported_names(source: str) -> Iterator[str]:
    """What a file imports, anywhere in it; a relative import by its dots."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield "." * node.level + (node.module or "")


def forbidden_names(source: str) -> set[str]:
    allowed = (NEIGHBOURS | sys.stdlib_module_names) - SINCE_PYTHON_3_6
    return {name for name in imported_names(source) if name.split(".")[0] not in allowed}


@pytest.mark.parametrize("path", [*INSIDE, *SHARED_FILES], ids=lambda path: path.name)
def test_it_imports_the_standard_library_and_its_neighbours_alone(path: Path) -> None:
    assert forbidden_names(path.read_text()) == set()


def test_what_a_training_imports_needs_no_neighbour() -> None:
    source = (INSIDE_FOLDER / "groundcrew_job.py").read_text()
    assert set(imported_names(source)) <= sys.stdlib_module_names - SINCE_PYTHON_3_6


@pytest.mark.parametrize(
    "source",
    [
        "import numpy",
        "from cluster.files import safe_files",
        "from worker.inside import shim_process_tree",
        "from . import shim_process_tree",
        "def late():\n    import psutil",
        "from dataclasses import dataclass",
    ],
)
def test_another_import_is_found(source: str) -> None:
    assert forbidden_names(source)


def test_each_bare_name_is_told_to_mypy_and_no_other() -> None:
    shared = {path.stem: path for path in SHARED_FILES}
    bare = {name for path in INSIDE for name in imported_names(path.read_text()) if name in NEIGHBOURS}
    stubs = {path.stem: path.read_text() for path in (ROOT / "typings").glob("*.pyi")}
    assert stubs.keys() == bare
    for name, text in stubs.items():
        package = "cluster.files" if name in shared else "worker.inside"
        assert text.splitlines()[-1] == f"from {package}.{name} import *"
