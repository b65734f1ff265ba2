"""Modules that run inside a job parse where the job's Python is old: images are."""

import ast
from pathlib import Path

import pytest

WORKER = Path(__file__).parents[3] / "worker"
INSIDE = sorted([*(WORKER / "inside").glob("*.py"), *(WORKER / "interactive").glob("*.py")])


@pytest.mark.parametrize("path", INSIDE, ids=lambda path: path.name)
def test_it_parses_as_python_3_6(path: Path) -> None:
    ast.parse(path.read_text(), feature_version=(3, 6))
