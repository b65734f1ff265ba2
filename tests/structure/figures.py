"""Prints the figures of the layout: ``python -m tests.structure.figures [FOLDER OF A CHECKOUT] [--short]``.

Every figure names what it counts, so that two checkouts can be compared by running it on both.
"""

import ast
import sys
from collections import Counter, defaultdict
from dataclasses import dataclass
from pathlib import Path

from tests.structure.source import ROOT, Module, Source

MOST_MODULES = 20
MOST_IMPORTS = 15
MOST_FUNCTION_LINES = 60
SHORT_LINES = 60
CATALOGUES = ("cluster/words/english",)
"""Folders of word tables: one file per topic, however many there are."""
KINDS = ("unit", "store", "pages", "integration")
"""The folders below tests/ that mirror the packages."""
DRIVEN_FROM_OUTSIDE = ("portal/views", "portal/api", "portal/cli", "worker/inside")


@dataclass(frozen=True)
class Figures:
    """What the script prints; each list names the places that are counted."""

    modules: int
    crowded: dict[str, int]
    """Folder → Python files directly in it, where there are more than MOST_MODULES."""
    class_names: dict[str, list[str]]
    """Class name → the modules that define it, where there are several."""
    function_names: dict[str, list[str]]
    """Public function → the modules that it is imported from by its bare name, where there are several."""
    many_imports: list[str]
    cycles: list[list[str]]
    tested: int
    testable: int
    untested: list[str]
    fragments: list[str]
    """Modules shorter than SHORT_LINES with one importer, in the same folder."""
    long_functions: dict[str, int]
    """`path:name` of each function with more than MOST_FUNCTION_LINES lines, and its lines."""


def measure(source: Source) -> Figures:
    testable = [module for module in source.modules if has_behaviour(module)]
    untested = [module.path for module in testable if not has_test(source, module)]
    return Figures(
        modules=len(source.modules),
        crowded=crowded_folders(source),
        class_names=repeated_classes(source),
        function_names=ambiguous_functions(source),
        many_imports=[
            module.path for module in source.modules if count_imports(source, module) > MOST_IMPORTS
        ],
        cycles=find_cycles(source),
        tested=len(testable) - len(untested),
        testable=len(testable),
        untested=untested,
        fragments=find_fragments(source),
        long_functions=find_long_functions(source),
    )


def crowded_folders(source: Source) -> dict[str, int]:
    files = Counter(module.folder for module in source.modules if module.stem not in ("__init__", "__main__"))
    for file in (source.root / "tests").rglob("*.py"):
        if file.stem not in ("__init__", "__main__"):
            files[str(file.parent.relative_to(source.root))] += 1
    return {
        folder: count
        for folder, count in sorted(files.items())
        if count > MOST_MODULES and not folder.startswith(CATALOGUES)
    }


def repeated_classes(source: Source) -> dict[str, list[str]]:
    places: dict[str, list[str]] = defaultdict(list)
    for module in source.modules:
        for node in module.definitions:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places[node.name].append(module.path)
    return {name: paths for name, paths in sorted(places.items()) if len(paths) > 1}


def ambiguous_functions(source: Source) -> dict[str, list[str]]:
    """A function that is always written with its module (`reordering.move_up`) is not ambiguous."""
    defined = {
        (module.name, node.name)
        for module in source.modules
        for node in module.definitions
        if not isinstance(node, ast.ClassDef)
    }
    places: dict[str, set[str]] = defaultdict(set)
    for module in source.modules:
        for target, name in source.imported(module):
            if name is not None and (target.name, name) in defined:
                places[name].add(target.path)
    return {name: sorted(paths) for name, paths in sorted(places.items()) if len(paths) > 1}


def count_imports(source: Source, module: Module) -> int:
    """Import statements anywhere in the file; one of a module that only re-exports counts as what that imports."""
    count = len(module.import_statements)
    for target, _ in set(source.imported(module)):
        if is_re_export(target):
            count += len(target.import_statements) - 1
    return count


def is_re_export(module: Module) -> bool:
    others = [
        node
        for node in module.tree.body
        if not isinstance(node, ast.Import | ast.ImportFrom | ast.Expr | ast.Assign)
    ]
    return bool(module.import_statements) and not others


def find_cycles(source: Source) -> list[list[str]]:
    """Groups of modules that import each other, also inside functions, by Tarjan's algorithm."""
    graph = {module.name: {target.name for target, _ in source.imported(module)} for module in source.modules}
    order: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    groups: list[list[str]] = []

    def visit(name: str) -> None:
        order[name] = low[name] = len(order)
        stack.append(name)
        for target in graph[name]:
            if target not in order:
                visit(target)
                low[name] = min(low[name], low[target])
            elif target in stack:
                low[name] = min(low[name], order[target])
        if low[name] == order[name]:
            group = stack[stack.index(name) :]
            del stack[stack.index(name) :]
            if len(group) > 1:
                groups.append(sorted(group))

    for name in graph:
        if name not in order:
            visit(name)
    return groups


def has_behaviour(module: Module) -> bool:
    """Word tables, rows, protocols and packages without code have nothing that a test could call."""
    return not module.folder.startswith(CATALOGUES) and any(
        does_something(node)
        for node in module.nodes
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    )


def does_something(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Whether the body holds more than a docstring, an ellipsis or `pass`."""
    return any(
        not (
            isinstance(node, ast.Pass)
            or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))
        )
        for node in function.body
    )


def has_test(source: Source, module: Module) -> bool:
    """Whether a test file lies at the module's path below one of the kinds of tests, and drives the module."""
    return any(drives(source, file, module) for file in test_files_of(source, module))


def test_files_of(source: Source, module: Module) -> list[Path]:
    """`test_jobs.py` and `test_jobs_by_hand.py` belong to `jobs.py`, unless there is a
    `jobs_by_hand.py`; `test_main.py` belongs to `__main__.py`, and that of a package has its name."""
    names = {"__init__": Path(module.folder).name, "__main__": "main"}
    stem = names.get(module.stem, module.stem)
    longer = [
        other.stem
        for other in source.modules
        if other.folder == module.folder and other.stem.startswith(f"{stem}_")
    ]
    return [
        file
        for kind in KINDS
        for file in sorted((source.root / "tests" / kind / module.folder).glob(f"test_{stem}*.py"))
        if belongs(file.stem.removeprefix("test_"), stem, longer)
    ]


def belongs(name: str, stem: str, longer: list[str]) -> bool:
    return name == stem or (
        name.startswith(f"{stem}_")
        and not any(name == other or name.startswith(f"{other}_") for other in longer)
    )


def drives(source: Source, file: Path, module: Module) -> bool:
    """Pages, commands and programs are driven by an address or a command line; other tests import the module."""
    if module.folder.startswith(DRIVEN_FROM_OUTSIDE) or module.stem == "__main__":
        return True
    if file.relative_to(source.root / "tests").parts[0] in ("integration", "pages"):
        return True
    path = str(file.relative_to(source.root))
    if path not in source.tests:
        source.tests[path] = Module(path, file.read_text())
    return any(target.path == module.path for target, _ in source.imported(source.tests[path]))


def find_fragments(source: Source) -> list[str]:
    importers: dict[str, set[str]] = defaultdict(set)
    for module in source.modules:
        for target, _ in source.imported(module):
            importers[target.path].add(module.path)
    return [
        module.path
        for module in source.modules
        if module.lines < SHORT_LINES
        and not module.folder.startswith(CATALOGUES)
        and len(importers[module.path]) == 1
        and Path(next(iter(importers[module.path]))).parent == Path(module.folder)
    ]


def find_long_functions(source: Source) -> dict[str, int]:
    """From the line of `def` to the last line, its docstring included; decorators do not count."""
    lines = {
        f"{module.path}:{node.name}": (node.end_lineno or node.lineno) - node.lineno + 1
        for module in source.modules
        for node in module.functions
    }
    return {place: count for place, count in lines.items() if count > MOST_FUNCTION_LINES}


def describe(figures: Figures) -> str:
    share = 100 * len(figures.many_imports) / figures.modules
    same_path = 100 * figures.tested / figures.testable
    lines = [
        f"modules                                      {figures.modules}",
        f"folders with more than {MOST_MODULES} modules            {len(figures.crowded)}",
        *(f"    {folder}: {count}" for folder, count in figures.crowded.items()),
        f"class names of several modules               {len(figures.class_names)}",
        *(f"    {name}: {', '.join(paths)}" for name, paths in figures.class_names.items()),
        f"functions imported from several modules      {len(figures.function_names)}",
        *(f"    {name}: {', '.join(paths)}" for name, paths in figures.function_names.items()),
        f"modules with more than {MOST_IMPORTS} imports            {len(figures.many_imports)} ({share:.1f} %)",
        *(f"    {path}" for path in figures.many_imports),
        f"cycles of imports                            {len(figures.cycles)}",
        *(f"    {' '.join(group)}" for group in figures.cycles),
        f"modules with a test of the same path         {figures.tested} of {figures.testable} ({same_path:.0f} %)",
        *(f"    without: {path}" for path in figures.untested),
        f"fragments (one importer beside, < {SHORT_LINES} lines)   {len(figures.fragments)}",
        *(f"    {path}" for path in figures.fragments),
        f"functions with more than {MOST_FUNCTION_LINES} lines            {len(figures.long_functions)}",
        *(f"    {place}: {count}" for place, count in figures.long_functions.items()),
    ]
    return "\n".join(lines)


def main(arguments: list[str]) -> None:
    folders = [argument for argument in arguments if not argument.startswith("--")]
    text = describe(measure(Source(Path(folders[0]).resolve() if folders else ROOT)))
    is_short = "--short" in arguments
    print("\n".join(line for line in text.splitlines() if not (is_short and line.startswith(" "))))


if __name__ == "__main__":
    main(sys.argv[1:])
