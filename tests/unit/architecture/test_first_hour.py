"""The page of the first hour names a test for each finding, and every test that it names exists."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "measurements" / "first-hour.md").read_text()
NAMED = re.compile(r"`(tests/[\w/]+\.py)::((?:\w+::)?test_\w+)`")
FINDINGS = 25
PARTS_PLAINER_THAN_DRAWN = 9


@cache
def list_tests(file: str) -> frozenset[str]:
    """The names by which pytest knows them: with the class in which they stand."""
    path = ROOT / file
    if not path.exists():
        return frozenset()
    tree = ast.parse(path.read_text())
    functions = [node.name for node in tree.body if isinstance(node, ast.FunctionDef)]
    methods = [
        f"{owner.name}::{node.name}"
        for owner in tree.body
        if isinstance(owner, ast.ClassDef)
        for node in owner.body
        if isinstance(node, ast.FunctionDef)
    ]
    return frozenset(name for name in (*functions, *methods) if "test_" in name)


def rows_below(heading: str) -> list[str]:
    section = PAGE.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    return [line for line in section.splitlines() if line.startswith("| ")][1:]


@pytest.mark.parametrize(("file", "name"), sorted(set(NAMED.findall(PAGE))))
def test_a_named_test_exists(file: str, name: str) -> None:
    assert name in list_tests(file)


@pytest.mark.parametrize(
    ("heading", "count"), [("Findings", FINDINGS), ("Plainer than drawn", PARTS_PLAINER_THAN_DRAWN)]
)
def test_each_row_names_a_test(heading: str, count: int) -> None:
    rows = rows_below(heading)
    assert len(rows) == count
    assert [row for row in rows if not NAMED.search(row)] == []
    assert PAGE.count("tests/") == len(re.findall(r"`tests/[\w/]+\.py(?:::[\w:]+)?`", PAGE))
