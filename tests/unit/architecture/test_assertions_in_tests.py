"""Each test can fail: it holds an assertion, or calls a function of the tests that does, by however many steps."""

import ast
from collections import defaultdict
from collections.abc import Iterator
from functools import cache

from tests.structure.source import read_tests

CHECKS = ("raises", "fail", "warns")
FAIL_BY_AN_ERROR = {
    "test_files_of_the_version_and_commands_of_the_node_are_taken": "a refusal of the script is raised",
    "test_playbooks_as_they_were_installed_may_run": "a changed playbook is raised",
}
Function = ast.FunctionDef | ast.AsyncFunctionDef


@cache
def called_names(function: Function) -> frozenset[str]:
    calls = [node.func for node in ast.walk(function) if isinstance(node, ast.Call)]
    return frozenset(
        each.attr if isinstance(each, ast.Attribute) else getattr(each, "id", "") for each in calls
    )


@cache
def has_assertion(function: Function) -> bool:
    stated = any(isinstance(node, ast.Assert | ast.Raise) for node in ast.walk(function))
    return stated or not called_names(function).isdisjoint(CHECKS)


def read_functions() -> Iterator[Function]:
    for module in read_tests():
        yield from module.functions


def test_every_test_asserts_something() -> None:
    by_name: dict[str, list[Function]] = defaultdict(list)
    for function in read_functions():
        by_name[function.name].append(function)

    def reaches_assertion(function: Function, passed: set[str]) -> bool:
        if has_assertion(function):
            return True
        names = called_names(function) - passed
        passed |= names
        return any(reaches_assertion(each, passed) for name in names for each in by_name.get(name, ()))

    silent = {
        name
        for name, functions in by_name.items()
        if name.startswith("test_") and not all(reaches_assertion(each, set()) for each in functions)
    }
    assert silent == set(FAIL_BY_AN_ERROR)
