"""The drawn functions are the public ones with tests, and an emptied one returns an empty value."""

import ast
from pathlib import Path

import pytest

from tests.structure.emptied import emptied, find_candidates
from tests.structure.source import Source

QUEUE = """
def free_units(): return 1
def _own(): return 1
def nothing(): ...
class Queue:
    def length(self): return 1
"""


def test_public_functions_of_modules_with_a_unit_or_store_test_are_drawn(tmp_path: Path) -> None:
    files = {
        "cluster/queue.py": QUEUE,
        "cluster/places.py": "def place(): return 1\n",
        "cluster/alone.py": "def run(): return 1\n",
        "worker/live.py": "def run(): return 1\n",
        "tests/unit/cluster/test_queue.py": "from cluster.queue import Queue\n",
        "tests/unit/cluster/test_alone.py": "",
        "tests/store/cluster/test_places.py": "from cluster import places\n",
        "tests/integration/worker/test_live.py": "from worker import live\n",
    }
    for path, text in files.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    assert {each.name: each.tests for each in find_candidates(Source(tmp_path))} == {
        "cluster.places.place": ("tests/store/cluster/test_places.py",),
        "cluster.queue.free_units": ("tests/unit/cluster/test_queue.py",),
    }


@pytest.mark.parametrize(
    ("function", "body"),
    [
        ("def f() -> bool: return g()", "return False"),
        ("def f() -> int: return g()", "return 0"),
        ("def f() -> list[str]: return g()", "return []"),
        ("def f() -> tuple[str, ...]: return g()", "return ()"),
        ("def f() -> tuple[int, str]: return g()", "return None"),
        ("def f() -> dict[str, int]: return g()", "return {}"),
        ("def f() -> str | None: return g()", "return None"),
        ("def f() -> Job: return g()", "return None"),
        ("def f() -> None: g()", "return None"),
        ("def f() -> Iterator[int]: yield g()", "return\nyield"),
        ("@contextmanager\ndef f() -> Iterator[int]:\n    with g(): yield 1", "yield"),
        ("def f() -> int:\n    def h(): yield 1\n    return g(h)", "return 0"),
        ("def f() -> int:\n    'Counts.'\n    return g()", "'Counts.'\nreturn 0"),
    ],
)
def test_an_emptied_function_returns_an_empty_value_of_its_type(function: str, body: str) -> None:
    other = "def g():\n    return 1"
    tree = ast.parse(emptied(f"{other}\n{function}\n", "f"))
    assert ast.unparse(tree.body[0]) == other
    assert "\n".join(ast.unparse(each) for each in tree.body[1].body) == body  # type: ignore[attr-defined]
