"""Shows which tests notice a function that does nothing: ``python -m tests.structure.emptied --count 20 --seed 1``.

Draws public functions of modules that have a test of the same path below tests/unit or tests/store. In a copy of the
checkout, empties one after the other (its docstring stays; it returns an empty value of its type) and runs the
module's own tests. Prints which test files fail; one that no test file notices makes the exit code 1.
"""

import argparse
import ast
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.structure.figures import does_something, drives, test_files_of
from tests.structure.source import ROOT, Module, Source

KINDS = ("unit", "store")
EMPTY_VALUES = {
    "bool": "False",
    "int": "0",
    "float": "0.0",
    "str": "''",
    "bytes": "b''",
    "list": "[]",
    "Sequence": "[]",
    "Iterable": "[]",
    "tuple": "()",
    "dict": "{}",
    "Mapping": "{}",
    "set": "set()",
    "frozenset": "frozenset()",
}
"""By the first word of the annotation. A function of any other type returns None."""
FAILED = re.compile(r"^(?:FAILED|ERROR) ([^\s:]+)", re.M)


@dataclass(frozen=True)
class Candidate:
    module: Module
    function: str
    tests: tuple[str, ...]
    """Test files of the module, relative to the repository."""

    @property
    def name(self) -> str:
        return f"{self.module.name}.{self.function}"


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--only", help="functions whose dotted name contains this text, instead of drawn ones"
    )
    options = parser.parse_args()
    candidates = list(find_candidates(Source()))
    drawn = (
        [each for each in candidates if options.only in each.name]
        if options.only
        else random.Random(options.seed).sample(candidates, options.count)
    )
    with tempfile.TemporaryDirectory(prefix="emptied-") as folder:
        return run(drawn, copy_checkout(Path(folder) / "checkout"))


def find_candidates(source: Source) -> Iterator[Candidate]:
    for module in source.modules:
        files = [
            file for file in test_files_of(source, module) if is_fast(file) and drives(source, file, module)
        ]
        tests = tuple(str(file.relative_to(source.root)) for file in files)
        if tests:
            yield from (Candidate(module, function.name, tests) for function in public_functions(module))


def is_fast(file: Path) -> bool:
    return any(f"/tests/{kind}/" in str(file) for kind in KINDS)


def public_functions(module: Module) -> Iterator[ast.FunctionDef]:
    for node in module.definitions:
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("_") and does_something(node):
            yield node


def copy_checkout(folder: Path) -> Path:
    """Tracked files and new ones that git does not ignore, as they are now."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    for name in filter(None, names.split("\0")):
        if (ROOT / name).exists():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name, follow_symlinks=False)
    for command in (["git", "init", "-q"], ["git", "add", "-A"]):
        subprocess.run(command, cwd=folder, check=True)
    return folder


def run(drawn: Sequence[Candidate], checkout: Path) -> int:
    """The exit code: 0 if each function is noticed, 1 if not, 2 if tests of one fail before anything is emptied."""
    red = set(failed_files(checkout, sorted({test for each in drawn for test in each.tests})))
    tried = noticed = 0
    for candidate in drawn:
        if red.intersection(candidate.tests):
            print(f"{candidate.name}: left out, its tests fail as they are", flush=True)
            continue
        file = checkout / candidate.module.path
        file.write_text(emptied(candidate.module.text, candidate.function))
        noticed_by = failed_files(checkout, candidate.tests)
        file.write_text(candidate.module.text)
        tried, noticed = tried + 1, noticed + bool(noticed_by)
        print(f"{candidate.name}: {', '.join(noticed_by) or 'NOT NOTICED'}", flush=True)
    print(f"{noticed} of {tried} noticed")
    return 1 if noticed < tried else 2 if tried < len(drawn) else 0


def failed_files(checkout: Path, tests: Sequence[str]) -> list[str]:
    """Test files with a failed case, also those that cannot be imported."""
    command = [
        sys.executable,
        "-B",
        "-m",
        "pytest",
        "-q",
        "--tb=no",
        "-rfE",
        "-p",
        "no:cacheprovider",
        *tests,
    ]
    environment = {name: value for name, value in os.environ.items() if name != "COLUMNS"} | {"CI": "false"}
    done = subprocess.run(
        command, cwd=checkout, env=environment, check=False, capture_output=True, text=True, timeout=600
    )
    files = sorted(set(FAILED.findall(done.stdout)))
    return files or ([] if done.returncode in (0, 5) else [f"pytest, exit code {done.returncode}"])


def emptied(text: str, name: str) -> str:
    """The module with one function that does nothing. Comments are lost."""
    tree = ast.parse(text)
    (function,) = (node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == name)
    kept = function.body[:1] if ast.get_docstring(function) is not None else []
    function.body = [*kept, *ast.parse(empty_body(function)).body]
    return ast.unparse(tree)


def empty_body(function: ast.FunctionDef) -> str:
    if is_generator(function):
        is_context = any("contextmanager" in ast.unparse(each) for each in function.decorator_list)
        return "yield" if is_context else "return\nyield"
    return f"return {empty_value(function.returns)}"


def is_generator(function: ast.FunctionDef) -> bool:
    return any(isinstance(node, ast.Yield | ast.YieldFrom) for node in own_nodes(function))


def own_nodes(function: ast.FunctionDef) -> Iterator[ast.AST]:
    """Without those of functions defined inside."""
    pending: list[ast.AST] = list(function.body)
    while pending:
        node = pending.pop()
        yield node
        if not isinstance(node, ast.FunctionDef | ast.Lambda | ast.ClassDef):
            pending += ast.iter_child_nodes(node)


def empty_value(annotation: ast.expr | None) -> str:
    """`tuple[int, str]` has no empty value, and an optional one is None."""
    if isinstance(annotation, ast.Subscript):
        elements = annotation.slice
        is_pair = isinstance(elements, ast.Tuple) and "..." not in ast.unparse(elements)
        if ast.unparse(annotation.value) == "tuple" and (is_pair or not isinstance(elements, ast.Tuple)):
            return "None"
        annotation = annotation.value
    return EMPTY_VALUES.get(ast.unparse(annotation), "None") if annotation else "None"


if __name__ == "__main__":
    raise SystemExit(main())
