"""No commit and no call to the outside without a failpoint before and after it: read from the syntax tree."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from cluster import failpoints
from cluster.services.context import Cluster
from tests.builders import a_user

ROOT = Path(__file__).resolve().parents[2]
STORE = ROOT / "cluster" / "store"
OWN_TRANSACTIONS = {
    STORE / name for name in ("engine.py", "migrate.py", "sql/sqlite.py", "sql/sqlite_writers.py")
}
LISTED = [
    *(ROOT / "cluster" / "services").rglob("*.py"),
    *(ROOT / "worker" / "tasks").rglob("*.py"),
    *(ROOT / "worker" / "repairs").rglob("*.py"),
    *(ROOT / "portal" / "api").rglob("*.py"),
    *(ROOT / "portal" / "views").rglob("*.py"),
    ROOT / "worker" / "scheduling" / "loop.py",
    ROOT / "worker" / "scheduling" / "reconciler.py",
]
"""Where the verbs, the loops and the way of a submission are written down."""

HARMLESS = {
    *("scan_dataset", "check_ansible", "PlaybookRequest", "install_runtime"),
    *("database_problem", "portal_status", "redis_problem", "read_host_name"),
}
"""They only read, or are a value; the last one is done again whole."""
MODULES = {"shutil", "subprocess"}
OF_OS = {
    "rename",
    "replace",
    "unlink",
    "remove",
    "mkdir",
    "makedirs",
    "chown",
    "chmod",
    "link",
    "rmdir",
    "kill",
}
OF_PATHS = {"rename", "unlink", "rmdir", "mkdir", "touch", "write_text", "write_bytes", "chmod", "symlink_to"}
BY_DESCRIPTOR = {
    *("make_folder", "ensure_folder", "set_owner_and_mode", "replace_file", "create_synced_file"),
    *("remove_tree", "remove_name"),
    *("move_at", "copy_tree", "chown_tree"),
}
READS = {"disk_usage", "which"}
WITHIN = {
    ("folders.py", "ensure_storage"): "safe to repeat, and called within points alone",
    ("folders.py", "make_jobs_folder"): "called within make_workspace_folder alone",
    ("folders.py", "take_over_folders"): "called within make_workspace_folder alone",
    ("folders.py", "hand_over_dataset"): "called within make_workspace_folder alone",
    ("folders.py", "give_to_group"): "of a tree that is not in its place yet",
    ("staged_code.py", "write"): "called within staged_code's own points alone",
    ("staged_code.py", "write_code_file"): "called within staged_code's own points alone",
    ("log_lines.py", "append_entries"): "called within append_sealed_entries' own points alone",
    ("rq_worker.py", "main"): "starts the task worker itself",
}
"""Functions that may do without points of their own, and why."""


def python_files(*packages: str) -> Iterator[Path]:
    for package in packages:
        for path in (ROOT / package).rglob("*.py"):
            if "migrations" not in path.parts and "embedded" not in path.parts:
                yield path


def test_only_the_store_opens_transactions() -> None:
    """So that its `write()`, which has the points, is around every commit."""
    own = [
        f"{path.relative_to(ROOT)}:{call.lineno} {name}"
        for path in python_files("cluster", "portal", "worker")
        if path not in OWN_TRANSACTIONS
        for call, name in calls_of(ast.parse(path.read_text()))
        if name.split(".")[-1] in ("commit", "begin_nested", "create_engine", "sessionmaker")
        or name.endswith(("engine.begin", "session.begin", "connection.begin", "store.engine"))
    ]
    assert own == []


def test_a_commit_has_a_point_on_both_sides_named_after_the_verb(light_cluster: Cluster) -> None:
    heard: list[str] = []
    failpoints.listener = heard.append
    try:
        a_user(light_cluster)
    finally:
        failpoints.listener = None
    assert heard == ["builders.add committing", "builders.add committed"]


@pytest.mark.parametrize("path", LISTED, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_calls_to_the_outside_stand_between_two_points(path: Path) -> None:
    assert list(uncovered(path)) == []


def test_the_reader_of_the_syntax_tree_sees_a_missing_point(tmp_path: Path) -> None:
    path = tmp_path / "module.py"
    path.write_text("def free(folder):\n    folder.rename('x')\n")
    assert list(uncovered(path)) == ["module.py:2 folder.rename in free"]
    path.write_text("@external_call('x')\ndef free(folder):\n    folder.rename('x')\n")
    assert list(uncovered(path)) == []
    path.write_text("def free(folder):\n    with external_call('x'):\n        folder.rename('x')\n")
    assert list(uncovered(path)) == []


def uncovered(path: Path) -> Iterator[str]:
    tree = ast.parse(path.read_text())
    adapters = names_from_adapters(tree)
    covered = {id(node) for block in blocks_with_points(tree) for node in ast.walk(block)}
    for function in [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]:
        if (path.name, function.name) in WITHIN:
            continue
        for call, name in calls_of(function):
            if id(call) not in covered and is_outside(call, name, adapters):
                yield f"{path.name}:{call.lineno} {name} in {function.name}"


def blocks_with_points(tree: ast.AST) -> Iterator[ast.AST]:
    for node in ast.walk(tree):
        around: list[ast.expr] = []
        if isinstance(node, ast.FunctionDef):
            around = node.decorator_list
        elif isinstance(node, ast.With):
            around = [item.context_expr for item in node.items]
        if any(is_point(each) for each in around):
            yield node


def is_point(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and dotted(node.func).split(".")[-1] == "external_call"


def names_from_adapters(tree: ast.AST) -> set[str]:
    """What is imported from the modules that touch one outside thing each."""
    return {
        alias.asname or alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("worker.adapters")
        for alias in node.names
    } - HARMLESS


def is_outside(call: ast.Call, name: str, adapters: set[str]) -> bool:
    module, _, verb = name.rpartition(".")
    if verb in READS:
        return False
    if module == "safe_files":
        return verb in BY_DESCRIPTOR
    if module in MODULES or (module == "os" and verb in OF_OS) or name in adapters:
        return True
    if module and verb in OF_PATHS:
        return True
    return verb == "open" and writes(call)


def writes(call: ast.Call) -> bool:
    modes = [argument.value for argument in call.args if isinstance(argument, ast.Constant)]
    return any(isinstance(mode, str) and mode[:1] in ("w", "a", "x") and len(mode) < 4 for mode in modes)


def calls_of(tree: ast.AST) -> Iterator[tuple[ast.Call, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            yield node, dotted(node.func)


def dotted(node: ast.expr) -> str:
    if isinstance(node, ast.Attribute):
        return f"{dotted(node.value)}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else "…"
