"""Reads the product's modules: what each defines, what it imports, and how long it is."""

import ast
import gc
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("cluster", "portal", "worker")
WITHOUT = ("cluster/store/migrations/", "portal/cli/build/")
"""Migrations stay as they were written; the other folder holds copies of the command while its package is built."""


@dataclass(frozen=True)
class Module:
    """One file of the product. `path` is relative to the repository."""

    path: str
    text: str

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.text)

    @cached_property
    def nodes(self) -> list[ast.AST]:
        """All nodes of the tree, as `ast.walk` yields them: a list is far quicker to go through again."""
        return list(ast.walk(self.tree))

    @cached_property
    def name(self) -> str:
        return self.path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")

    @cached_property
    def stem(self) -> str:
        return Path(self.path).stem

    @cached_property
    def folder(self) -> str:
        return str(Path(self.path).parent)

    @property
    def lines(self) -> int:
        return self.text.count("\n")

    @cached_property
    def definitions(self) -> list[ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef]:
        return [
            node
            for node in self.tree.body
            if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        ]

    @cached_property
    def functions(self) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
        """Methods and functions inside of functions too."""
        return [node for node in self.nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]

    @cached_property
    def import_statements(self) -> list[ast.Import | ast.ImportFrom]:
        """Those inside functions too."""
        return [node for node in self.nodes if isinstance(node, ast.Import | ast.ImportFrom)]


class Source:
    """All modules of the product in one checkout."""

    def __init__(self, root: Path = ROOT) -> None:
        self.root = root
        self.modules = parse_all(list(read_modules(root)))
        self.by_name = {module.name: module for module in self.modules}
        flat = [module for module in self.modules if module.folder.startswith("worker/inside")]
        self.flat = {module.stem: module for module in flat}
        """Modules that run from one flat folder import each other by their bare names."""
        self.imports: dict[str, list[tuple[Module, str | None]]] = {}
        self.tests: dict[str, Module] = {}
        """The tests that were looked at, by their paths."""

    def imported(self, module: Module) -> list[tuple[Module, str | None]]:
        """Each module of the product that `module` imports, with the name that it takes from it (None: itself)."""
        if module.path not in self.imports:
            self.imports[module.path] = list(self.resolve_imports(module))
        return self.imports[module.path]

    def resolve_imports(self, module: Module) -> Iterator[tuple[Module, str | None]]:
        for statement in module.import_statements:
            if isinstance(statement, ast.Import):
                for alias in statement.names:
                    target = self.find(module, alias.name)
                    if target is not None:
                        yield target, None
                continue
            base = self.absolute(module, statement)
            for alias in statement.names:
                whole = self.find(module, f"{base}.{alias.name}")
                target = whole or self.find(module, base)
                if target is not None:
                    yield target, None if whole else alias.name

    def find(self, module: Module, name: str) -> Module | None:
        if module.folder.startswith("worker/inside") and name in self.flat:
            return self.flat[name]
        return self.by_name.get(name)

    @staticmethod
    def absolute(module: Module, statement: ast.ImportFrom) -> str:
        if not statement.level:
            return statement.module or ""
        parts = module.path.removesuffix(".py").split("/")[: -statement.level]
        return ".".join([*parts, *([statement.module] if statement.module else [])])


@cache
def read_source() -> Source:
    """Read and parse this checkout once in each process, however many tests look at it."""
    return Source()


@cache
def read_tests() -> list[Module]:
    """Read and parse the tests of this checkout once in each process."""
    return parse_all(
        [
            Module(file.relative_to(ROOT).as_posix(), file.read_text())
            for file in sorted((ROOT / "tests").rglob("*.py"))
        ]
    )


def parse_all(modules: list[Module]) -> list[Module]:
    """The trees stay for good and hold no cycles, so the collector need not go through them while they grow."""
    gc.disable()
    for module in modules:
        module.nodes  # noqa: B018  # It is computed once and kept.
    gc.freeze()
    gc.enable()
    return modules


def read_modules(root: Path) -> Iterator[Module]:
    for package in PACKAGES:
        for file in sorted((root / package).rglob("*.py")):
            path = str(file.relative_to(root))
            if not path.startswith(WITHOUT):
                yield Module(path, file.read_text())
