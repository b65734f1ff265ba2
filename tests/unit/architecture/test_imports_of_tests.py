"""Tests that only run where there is an engine, a GPU or an hour are read here too: what they import is there.

So is what a program imports that stands in a string and is run by another Python, on a host or in a container.
"""

import ast
import re
from collections.abc import Iterator
from importlib import import_module, util

from tests.structure.source import ROOT, Module, read_tests

OURS = ("cluster", "portal", "worker")


MADE_UP = "structure"
"""The folder of the tests that measure source trees of their own."""
IMPORT = re.compile(r"^from ((?:cluster|portal|worker)(?:\.\w+)*) import ([\w, ]+)$", re.MULTILINE)


def imported_in_strings(module: Module) -> Iterator[tuple[str, str]]:
    """Also what is called of a module that was imported by its name."""
    for node in module.nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            for package, names in IMPORT.findall(node.value):
                for name in (each.split()[0] for each in names.split(",")):
                    yield package, name
                    if ROOT.joinpath(*package.split("."), f"{name}.py").exists():
                        called = re.findall(rf"(?<![\w.]){name}\.(\w+)\(", node.value)
                        yield from ((f"{package}.{name}", each) for each in called)


def imported(module: Module) -> set[tuple[str, str]]:
    """Module and name of each thing of ours."""
    return {
        (each.module, alias.name)
        for each in module.import_statements
        if isinstance(each, ast.ImportFrom) and each.module is not None and each.module.split(".")[0] in OURS
        for alias in each.names
    }


def is_there(module: str, name: str) -> bool:
    found = import_module(module)
    is_package = hasattr(found, "__path__")
    return hasattr(found, name) or (is_package and util.find_spec(f"{module}.{name}") is not None)


def test_what_tests_import_of_ours_is_there() -> None:
    wanted = {pair: module.path for module in read_tests() for pair in imported(module)}
    assert len(wanted) > 500
    lost = [f"{path}: {'.'.join(pair)}" for pair, path in sorted(wanted.items()) if not is_there(*pair)]
    assert lost == []


def test_what_programs_in_strings_import_of_ours_is_there() -> None:
    modules = [module for module in read_tests() if not module.folder.endswith(f"/{MADE_UP}")]
    wanted = {pair: module.path for module in modules for pair in imported_in_strings(module)}
    assert len(wanted) > 30
    lost = [f"{path}: {'.'.join(pair)}" for pair, path in sorted(wanted.items()) if not is_there(*pair)]
    assert lost == []
