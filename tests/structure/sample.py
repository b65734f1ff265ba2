"""Draws modules for a reading, and prints their prose: ``python -m tests.structure.sample --seed 1 [--count 26]``.

The prose of a module is its docstrings, its comments, and the texts of its log lines and exceptions.
"""

import argparse
import ast
import io
import random
import tokenize
from collections.abc import Iterator

from tests.structure.source import Module, read_source

COUNT = 26
LOG_LEVELS = ("debug", "info", "warning", "error", "exception")


def draw_modules(modules: list[Module], seed: int, count: int) -> list[Module]:
    return random.Random(seed).sample(sorted(modules, key=lambda module: module.path), count)


def read_prose(module: Module) -> list[tuple[int, str]]:
    """Returns (line number, text), in the order of the lines."""
    return sorted([*read_docstrings(module), *read_comments(module), *read_messages(module)])


def read_docstrings(module: Module) -> Iterator[tuple[int, str]]:
    for node in module.nodes:
        if isinstance(node, ast.Expr) and (text := text_of(node.value)) is not None:
            yield node.lineno, " ".join(text.split())


def read_comments(module: Module) -> Iterator[tuple[int, str]]:
    for token in tokenize.generate_tokens(io.StringIO(module.text).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string


def read_messages(module: Module) -> Iterator[tuple[int, str]]:
    """The first argument of each log line and of each exception that is raised, if it is a sentence."""
    for node in module.nodes:
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr in LOG_LEVELS
        ):
            call: ast.expr | None = node
        else:
            call = node.exc if isinstance(node, ast.Raise) else None
        if isinstance(call, ast.Call) and call.args and (text := text_of(call.args[0])) and " " in text:
            yield call.lineno, f'"{text}"'


def text_of(node: ast.expr) -> str | None:
    """The text of a constant, or of an f-string with its expressions in braces; None for anything else."""
    if isinstance(node, ast.JoinedStr):
        return ast.unparse(node)[2:-1]
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--count", type=int, default=COUNT)
    chosen = parser.parse_args()
    modules = read_source().modules
    print(f"{chosen.count} of {len(modules)} modules, seed {chosen.seed}")
    for module in draw_modules(modules, chosen.seed, chosen.count):
        print(f"\n{module.path}")
        for line, text in read_prose(module):
            print(f"  {line}: {text}")


if __name__ == "__main__":
    main()
