"""Tests wait for an event and never for a while: a sleep stands in a loop that asks for what is awaited.

Not counted are measurements, programs that tests run as text, and `sleep(0)`, by which a coroutine lets others run.
"""

import ast
from collections.abc import Iterator

from tests.structure.source import read_tests

MEASUREMENTS = "bench"
LOOPS = ast.While | ast.For | ast.AsyncFor
FUNCTIONS = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
ELSEWHERE = {
    "crash/partition.py": "the scheduler's loop calls this wait",
    "integration/worker/executors/executor_stages.py": "the loop of `until` calls it between two questions",
    "unit/worker/executors/test_kubernetes_shared_objects.py": "a server far away, which answers slowly",
}
"""Sleeps without a loop in their own function, and why."""


def find_sleeps_outside_loops(tree: ast.Module) -> Iterator[int]:
    def walk(node: ast.AST, is_in_loop: bool) -> Iterator[int]:
        if isinstance(node, ast.Call) and is_sleep(node) and not is_in_loop:
            yield node.lineno
        for child in ast.iter_child_nodes(node):
            inside = isinstance(child, LOOPS) or (is_in_loop and not isinstance(child, FUNCTIONS))
            yield from walk(child, inside)

    return walk(tree, False)


def is_sleep(call: ast.Call) -> bool:
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    is_yield = bool(call.args) and isinstance(call.args[0], ast.Constant) and call.args[0].value == 0
    return name == "sleep" and not is_yield


def test_no_test_sleeps_outside_a_loop_that_asks() -> None:
    found = []
    for module in read_tests():
        path = module.path.removeprefix("tests/")
        if not path.startswith(f"{MEASUREMENTS}/") and "sleep(" in module.text:
            found += [(path, line) for line in find_sleeps_outside_loops(module.tree)]
    assert [f"{path}:{line}" for path, line in found if path not in ELSEWHERE] == []
    assert set(ELSEWHERE) == {path for path, _ in found}


def test_a_sleep_is_found_wherever_no_loop_is_around_it() -> None:
    text = (
        "for x in y:\n    time.sleep(1)\n    def slow():\n        time.sleep(2)\nsleep(3)\nasyncio.sleep(0)\n"
    )
    assert list(find_sleeps_outside_loops(ast.parse(text))) == [4, 5]
