"""A file that must be whole is written by `cluster/files/atomic.py`: nothing else renames what it has just written.

Read from the syntax tree, so each rename is either on the list below with its reason or an error.
"""

import ast
from collections.abc import Iterable, Iterator
from functools import cache

import pytest

from tests.structure.source import read_source

WITHOUT_THE_CLUSTER = (
    "portal/cli/",
    "worker/bootstrap/",
    "worker/bundle/check.py",
    "worker/inside/",
    "worker/models/",
    "worker/notebooks/",
    "worker/adapters/playbook_process.py",
)
"""Run without the packages of the product: by the system's Python, a job's, Ansible's or a researcher's."""
FOLDER = "a folder, filled beside its place and synced as a whole"
MOVE = "moves what is whole already"
ALLOWED = {
    "cluster/files/atomic.py": "the one atomic write",
    "cluster/files/safe_files.py": "renames below open folders; the shim has a copy of it",
    "cluster/services/datasets.py": MOVE,
    "cluster/services/storage/staged_code.py": MOVE,
    "cluster/store/sql/sqlite.py": "SQLite writes the copy itself, and the store knows no files",
    "worker/backups/dump.py": "the text takes its name once its manifest stands",
    "worker/backups/etcd.py": "the snapshot takes its name once its manifest stands",
    "worker/backups/databases/sqlite.py": MOVE,
    "worker/bundle/assembly.py": FOLDER,
    "worker/bundle/build_cache.py": FOLDER,
    "worker/embedded/state_directory.py": "a link",
    "worker/environments/build.py": FOLDER,
    "worker/environments/editor_environment.py": FOLDER,
    "worker/environments/wheels.py": FOLDER,
}


def renames(nodes: Iterable[ast.AST]) -> Iterator[int]:
    """Lines of `os.rename`, `os.replace`, `shutil.move`, `path.rename(…)`, and `path.replace(…)` of one argument."""
    for node in nodes:
        if isinstance(node, ast.ImportFrom) and node.module in ("os", "shutil"):
            if any(alias.name in ("rename", "renames", "replace", "move") for alias in node.names):
                yield node.lineno
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            of = node.func.value.id if isinstance(node.func.value, ast.Name) else ""
            if (
                node.func.attr in ("rename", "renames")
                or (of == "os" and node.func.attr == "replace")
                or (of == "shutil" and node.func.attr == "move")
                or (node.func.attr == "replace" and len(node.args) == 1 and not node.keywords)
            ):
                yield node.lineno


@cache
def places() -> dict[str, list[int]]:
    found = {module.path: list(renames(module.nodes)) for module in read_source().modules}
    return {
        path: lines for path, lines in found.items() if lines and not path.startswith(WITHOUT_THE_CLUSTER)
    }


def test_nothing_else_renames_what_it_has_written() -> None:
    assert {path: lines for path, lines in places().items() if path not in ALLOWED} == {}


def test_nothing_is_allowed_that_nobody_does() -> None:
    assert set(ALLOWED) - set(places()) == set()


@pytest.mark.parametrize(
    "line",
    [
        "unfinished.rename(path)",
        "path.with_suffix('.tmp').replace(path)",
        "import os; os.replace(a, b)",
        "import os; os.rename(a, b)",
        "from os import replace",
        "import shutil; shutil.move(a, b)",
    ],
)
def test_the_reader_sees_a_rename(line: str) -> None:
    assert len(list(renames(ast.walk(ast.parse(line))))) == 1


@pytest.mark.parametrize(
    "line", ["'a b'.replace(' ', '')", "at.replace(tzinfo=UTC)", "replace(row, name='a')"]
)
def test_the_reader_leaves_other_words_alone(line: str) -> None:
    assert list(renames(ast.walk(ast.parse(line)))) == []
