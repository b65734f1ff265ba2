"""Owners, modes, copies and recursive removal by path are forbidden where root may run: read from the syntax tree.

A path is looked up again at each call, so that the owner of a folder in it leads root elsewhere by a link.
`cluster/files/safe_files.py` has what is used instead.
"""

import ast
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

import pytest

from tests.structure.source import Module, read_source

MIGRATIONS = Path(__file__).resolve().parents[3] / "cluster" / "store" / "migrations"
ANYWHERE = {"chown", "lchown", "chmod", "lchmod"}
"""Of `os`, of `shutil`, of a path: whatever they are called on."""
OF_MODULES = {
    "shutil": {"copy", "copy2", "copyfile", "copymode", "copystat", "copytree", "move", "rmtree", "chown"},
    "os": {"removedirs", "chown", "chmod", "lchown"},
}

EMBEDDED = "the embedded set's own folders: as root they are root's, and a job owns nothing but its `out`"
SITE_CACHE = (
    "below the cache of images, which worker/images/site_images.py refuses where its path is not root's alone"
)
BUILDER = "below a cache that belongs to whoever builds: a service on servers, root in the embedded set alone"
BUNDLE = "made by hand on an administrator's own machine, in a folder of that person"
BACKUPS = (
    "in the folder of backups, which belongs to whoever makes them: root on servers, who hands it to nobody"
)
ALLOWED = {
    "cluster/files/safe_files.py": "by the number of a descriptor that is open, below /proc/self/fd",
    "worker/backups/encryption.py": BACKUPS,
    "worker/backups/etcd_restore.py": BACKUPS,
    "worker/backups/databases/sqlite.py": BACKUPS,
    "worker/bundle/": BUNDLE,
    "worker/bootstrap/": EMBEDDED,
    "worker/embedded/": EMBEDDED,
    "worker/environments/": BUILDER,
    "worker/images/": SITE_CACHE,
    "worker/commands/repair_broker.py": "in the folder of runs, by the user whose it is; its unit is not root's",
    "worker/notebooks/": "runs inside the job, as the job's user",
    "worker/repairs/playbook_runs.py": EMBEDDED + "; on servers no root runs it",
}
"""A file, or a folder with a slash at its end, and why it may."""


def changes_by_path(nodes: Iterable[ast.AST]) -> Iterator[tuple[int, str]]:
    """Line and name of each call, and of each name that is imported by itself."""
    for node in nodes:
        if isinstance(node, ast.Attribute):
            module = node.value.id if isinstance(node.value, ast.Name) else ""
            if node.attr in ANYWHERE or node.attr in OF_MODULES.get(module, ()):
                yield node.lineno, f"{module or '…'}.{node.attr}"
        elif isinstance(node, ast.ImportFrom) and node.module in OF_MODULES:
            for alias in node.names:
                if alias.name in OF_MODULES[node.module]:
                    yield node.lineno, f"{node.module}.{alias.name}"
        elif isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name in OF_MODULES and alias.asname:
                    yield node.lineno, f"{alias.name} as {alias.asname}"


@cache
def found() -> list[tuple[str, int, str]]:
    modules = [each for each in read_source().modules if not each.path.startswith("portal/")]
    migrations = [Module(each.name, each.read_text()) for each in MIGRATIONS.rglob("*.py")]
    return [
        (module.path, line, name)
        for module in (*modules, *migrations)
        for line, name in changes_by_path(module.nodes)
    ]


def allowed_by(path: str) -> str | None:
    return next(
        (entry for entry in ALLOWED if path == entry or (entry.endswith("/") and path.startswith(entry))),
        None,
    )


def test_root_changes_nothing_by_path() -> None:
    assert [f"{path}:{line} {name}" for path, line, name in found() if allowed_by(path) is None] == []


def test_nothing_is_allowed_that_nobody_does() -> None:
    assert set(ALLOWED) == {allowed_by(path) for path, _, _ in found()} - {None}


def test_what_runs_inside_a_job_is_never_allowed_to() -> None:
    assert not [entry for entry in ALLOWED if "worker/inside/shim.py".startswith(entry)]


@pytest.mark.parametrize(
    "line",
    [
        "import os; os.chown(path, 0, 0)",
        "from os import chown",
        "path.chmod(0o700)",
        "import shutil; shutil.rmtree(path, ignore_errors=True)",
        "from shutil import copytree as take",
        "import shutil as files",
        "give = os.chmod",
        "import os; os.removedirs(path)",
        "(folder / name).lchmod(0o700)",
        "shutil.move(a, b)",
    ],
)
def test_the_reader_of_the_syntax_tree_sees_it(line: str) -> None:
    assert len(list(changes_by_path(ast.walk(ast.parse(line))))) == 1


@pytest.mark.parametrize("line", ["os.fchown(descriptor, 0, 0)", "shutil.disk_usage(path)", "values.copy()"])
def test_the_reader_of_the_syntax_tree_leaves_the_rest_alone(line: str) -> None:
    assert list(changes_by_path(ast.walk(ast.parse(line)))) == []
