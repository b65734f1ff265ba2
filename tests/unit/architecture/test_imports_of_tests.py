"""Tests that only run where there is an engine, a GPU or an hour are read here too: what they import is there.

So is what a program imports that stands in a string and is run by another Python, on a host or in a container.
"""

import ast
import re
from collections.abc import Iterator
from importlib import import_module, util
from pathlib import Path

TESTS = Path(__file__).parents[2]
OURS = ("cluster", "portal", "worker")


MADE_UP = "structure"
"""The folder of the tests that measure source trees of their own."""
IMPORT = re.compile(r"^from ((?:cluster|portal|worker)(?:\.\w+)*) import ([\w, ]+)$", re.MULTILINE)


def imported_in_strings(file: Path) -> Iterator[tuple[str, str]]:
    """Also what is called of a module that was imported by its name."""
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            for module, names in IMPORT.findall(node.value):
                for name in (each.split()[0] for each in names.split(",")):
                    yield module, name
                    if TESTS.parent.joinpath(*module.split("."), f"{name}.py").exists():
                        called = re.findall(rf"(?<![\w.]){name}\.(\w+)\(", node.value)
                        yield from ((f"{module}.{name}", each) for each in called)


def imported(file: Path) -> set[tuple[str, str]]:
    """Module and name of each thing of ours."""
    found = [each for each in ast.walk(ast.parse(file.read_text())) if isinstance(each, ast.ImportFrom)]
    return {
        (each.module, alias.name)
        for each in found
        if each.module is not None and each.module.split(".")[0] in OURS
        for alias in each.names
    }


def is_there(module: str, name: str) -> bool:
    found = import_module(module)
    is_package = hasattr(found, "__path__")
    return hasattr(found, name) or (is_package and util.find_spec(f"{module}.{name}") is not None)


def test_what_tests_import_of_ours_is_there() -> None:
    wanted = {pair: file for file in sorted(TESTS.rglob("*.py")) for pair in imported(file)}
    assert len(wanted) > 500
    lost = [f"{file}: {'.'.join(pair)}" for pair, file in sorted(wanted.items()) if not is_there(*pair)]
    assert lost == []


def test_what_programs_in_strings_import_of_ours_is_there() -> None:
    files = [file for file in sorted(TESTS.rglob("*.py")) if file.parent.name != MADE_UP]
    wanted = {pair: file for file in files for pair in imported_in_strings(file)}
    assert len(wanted) > 30
    lost = [f"{file}: {'.'.join(pair)}" for pair, file in sorted(wanted.items()) if not is_there(*pair)]
    assert lost == []
