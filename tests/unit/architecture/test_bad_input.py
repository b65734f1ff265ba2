"""The pages of bad input and of reviews name every number, and each of their tests exists; what no test holds has its
reason.
"""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
ROW = re.compile(r"^\| (S\d+) \| ([^|]+) \| (.+) \|$", re.MULTILINE)
TEST = re.compile(r"`(tests/[\w/]+\.py)::(\w+)`")
WITHOUT_TEST = re.compile(r"^Does not apply: \w+.{20,}")
ROWS = ROW.findall((ROOT / "docs" / "developing" / "bad-input.md").read_text())

FINDING = re.compile(r"^\| (D?\d+) \| ([^|]+) \| ([^|]+) \| ([^|]+) \| (.+) \|$", re.MULTILINE)
REVIEWS = (ROOT / "docs" / "measurements" / "security.md").read_text()
FINDINGS = FINDING.findall(REVIEWS)
REVIEWED = [*(str(number) for number in range(1, 24)), *(f"D{number}" for number in range(1, 12))]


@cache
def functions_of(path: str) -> frozenset[str]:
    file = ROOT / path
    if not file.is_file():
        return frozenset()
    tree = ast.parse(file.read_text())
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    return frozenset(node.name for node in ast.walk(tree) if isinstance(node, kinds))


def test_every_number_stands_once_and_in_its_order() -> None:
    assert [number for number, _, _ in ROWS] == [f"S{number}" for number in range(1, 33)]


@pytest.mark.parametrize(("number", "held"), [(row[0], row[2]) for row in ROWS])
def test_each_is_held_by_tests_that_exist_or_says_why_none_has_to(number: str, held: str) -> None:
    tests = TEST.findall(held)
    assert [f"{path}::{name}" for path, name in tests if name not in functions_of(path)] == []
    assert held.count("::") == len(tests), f"{number}: a test is written in another way"
    assert tests or WITHOUT_TEST.match(held), f"{number}: neither a test nor a reason"


def test_every_finding_of_the_reviews_stands_once_and_in_its_order() -> None:
    assert [row[0] for row in FINDINGS] == REVIEWED


@pytest.mark.parametrize(("number", "tests"), [(row[0], row[3]) for row in FINDINGS])
def test_each_finding_names_tests_that_exist(number: str, tests: str) -> None:
    named = TEST.findall(tests)
    assert [f"{path}::{name}" for path, name in named if name not in functions_of(path)] == []
    assert named and tests.count("::") == len(named), (
        f"{number}: a test is missing, or written in another way"
    )


def test_each_test_that_the_page_of_reviews_names_exists() -> None:
    named = TEST.findall(REVIEWS)
    assert [f"{path}::{name}" for path, name in named if name not in functions_of(path)] == []


def test_a_test_that_is_gone_is_found() -> None:
    assert "test_that_never_was" not in functions_of("tests/unit/architecture/test_bad_input.py")
    assert functions_of("tests/unit/architecture/no_such_file.py") == frozenset()
