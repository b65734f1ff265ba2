"""Docs and docstrings name only files, folders and modules that exist.

Decisions (docs/decisions) and the changelog say what was true on their day and keep the names of that day; the page of
renames lists old names on purpose.
"""

import ast
import re
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
HISTORY = ("docs/decisions/", "docs/developing/renames.md", "CHANGELOG.md", "tests/data/")
LOCAL = "(?:cluster|portal|worker|tests|ansible|roles|docs|requirements)"
PATH = re.compile(rf"(?<![\w./<>$~{{}}-])({LOCAL}/[\w./-]*[\w/])(?![*<{{])")
MODULE = re.compile(r"(?<![\w./-])((?:cluster|portal|worker|tests)(?:\.[a-z_0-9]+)+)(?![\w/(-])")
SUFFIXES = (".env", ".key", ".md", ".pem", ".txt", ".yml")
"""Of files that have a package's name."""
FILE = re.compile(r"`(?:[a-z_0-9-]+/)*([a-z_0-9-]+\.(?:py|md))`")
"""In Markdown: a file by its name alone, or by the end of its path."""
NO_FILES_OF_OURS = {
    "docs/CGROUP_DELEGATION.md": "systemd's own documentation",
    "tests/output": "made by the tests and ignored",
    "train.py": "a user's program",
    "cluster/jobs.py": "an invented module of a made-up tree",
    "ansible/repairs/restart-it.yml": "an invented repair",
}


@cache
def tracked() -> frozenset[str]:
    """Files of the repository, also those that are not committed yet."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return frozenset(name for name in done.stdout.splitlines() if (ROOT / name).exists())


@cache
def folders() -> frozenset[str]:
    return frozenset(str(parent) for name in tracked() for parent in Path(name).parents)


@cache
def file_names() -> frozenset[str]:
    return frozenset(Path(name).name for name in tracked())


def is_there(path: str) -> bool:
    """A file, a folder, or a module without its suffix."""
    plain = path.rstrip("/.")
    return plain in tracked() or plain in folders() or f"{plain}.py" in tracked()


@cache
def words_of(file: str) -> frozenset[str]:
    return frozenset(re.findall(r"\w+", (ROOT / file).read_text()))


def has_name(module: str) -> bool:
    """A module, or what stands in one: `worker.tasks.run.run_operation`."""
    parts = module.split(".")
    for length in range(len(parts), 0, -1):
        base, rest = "/".join(parts[:length]), parts[length:]
        for file in (f"{base}.py", f"{base}/__init__.py"):
            if file in tracked():
                return not rest or rest[0] in words_of(file)
        if base in folders():
            return not rest
    return False


def is_exempt(name: str) -> bool:
    return any(name == each or name.startswith(f"{each}/") for each in NO_FILES_OF_OURS)


def lost_names(text: str) -> Iterator[str]:
    yield from (path for path in PATH.findall(text) if not is_there(path) and not is_exempt(path))
    modules = (module for module in MODULE.findall(text) if not module.endswith(SUFFIXES))
    yield from (module for module in modules if not has_name(module))


def docstrings(source: str) -> Iterator[str]:
    """Of the module, its classes and functions, and the sentences under constants and fields."""
    for node in ast.walk(ast.parse(source)):
        if (
            isinstance(node, ast.Expr)
            and isinstance(node.value, ast.Constant)
            and isinstance(node.value.value, str)
        ):
            yield node.value.value


def comments(source: str) -> str:
    return "\n".join(re.findall(r"(?:^|\s)#\s(.*)$", source, re.M))


def pages() -> list[str]:
    return sorted(name for name in tracked() if name.endswith(".md") and not name.startswith(HISTORY))


def sources() -> list[str]:
    return sorted(name for name in tracked() if name.endswith(".py") and not name.startswith(HISTORY))


@pytest.mark.parametrize("page", pages())
def test_a_page_names_only_what_exists(page: str) -> None:
    text = (ROOT / page).read_text()
    lost = {*lost_names(text), *(name for name in FILE.findall(text) if name not in file_names())}
    assert sorted(name for name in lost if not is_exempt(name)) == []


def test_docstrings_and_comments_name_only_what_exists() -> None:
    lost = []
    for name in sources():
        source = (ROOT / name).read_text()
        # Names in code are held by its imports; few files have a lost one, and only those are parsed.
        if any(lost_names(source)):
            text = "\n".join([*docstrings(source), comments(source)])
            lost += [f"{name}: {each}" for each in lost_names(text)]
    assert lost == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("`worker/kube/api.py` asks", ["worker/kube/api.py"]),
        ("the modules of worker.embedded.bootstrap", ["worker.embedded.bootstrap"]),
        ("docs/topic/queue.md, `cluster/domain/placement/` and worker.tasks.run.run_operation", []),
        ("https://example.org/docs/none.md and roles/<name>/README.md", []),
    ],
)
def test_a_name_that_is_lost_is_found(text: str, expected: list[str]) -> None:
    assert list(lost_names(text)) == expected


def test_each_walk_counts_its_files() -> None:
    page = (ROOT / "docs/developing/architecture.md").read_text()
    walks = re.findall(r"^### [^\n]*: (\d+) files$(.*?)(?=^##)", page, re.M | re.S)
    assert len(walks) == 3
    for count, text in walks:
        stations = re.findall(r"^\d+\. `([^`]+)`", text, re.M)
        assert len(set(stations)) == len(stations) == int(count)


def test_each_word_of_the_glossary_stands_once_and_where_it_says() -> None:
    page = (ROOT / "docs/developing/glossary.md").read_text()
    rows = re.findall(r"^\| \*\*(.+?)\*\* \|.*\| `([^` ]+)`(?: `(\w+)`)? \| [^|]*\|$", page, re.M)
    words = [word for word, _, _ in rows]
    assert len(words) == len(set(words)) == page.count("\n| **")
    lost = [
        row
        for row in rows
        if row[1] not in tracked() or (row[2] and row[2] not in (ROOT / row[1]).read_text())
    ]
    assert lost == []
