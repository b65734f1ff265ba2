"""Tries every regular expression of the product on long lines: ``python -m tests.regular_expressions BYTES``.

Patterns that are named behind BYTES are tried in their place. Prints
the ones that do not end within a generous number of CPU seconds, as JSON.
"""

import ast
import json
import re
import resource
import signal
import sys
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import sre_parse

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = ("portal", "cluster", "worker")
USES = ("compile", "search", "match", "fullmatch", "findall", "finditer", "sub", "split")
LETTERS = "Aaz_0-./: ,;=@\"'()[]{}<>*\\\t\r\n\x1b\u00e9\ud55c"
ENDS = "\x00 /"
CPU_SECONDS = 0.25
"""A pattern that reads each letter a few times needs milliseconds; one that begins again at each needs minutes."""


@dataclass(frozen=True)
class Pattern:
    """`where` is the file and the name that it is bound to, else its first words."""

    where: str
    text: str | bytes
    flags: int
    anchored: bool


class TooSlow(Exception):
    """The pattern used up its CPU seconds."""


def all_patterns() -> Iterator[Pattern]:
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*.py")):
            if "vendor" not in path.parts:
                yield from patterns_of(path)


def patterns_of(path: Path) -> Iterator[Pattern]:
    """Those whose text stands in the file; an f-string's own parts count as one letter."""
    source = path.read_text()
    if "re." not in source:
        return
    tree = ast.parse(source)
    whole, names = fully_matched(tree), bound_names(tree)
    for node in ast.walk(tree):
        if not (isinstance(node, ast.Call) and is_of_re(node.func) and node.args):
            continue
        assert isinstance(node.func, ast.Attribute)
        text = text_of(node.args[0])
        if text is None:
            continue
        name = names.get(node, "")
        label = name or (text if isinstance(text, str) else text.decode())[:20]
        anchored = node.func.attr in ("match", "fullmatch") or name in whole
        yield Pattern(f"{path.relative_to(ROOT)}:{label}", text, flags_of(node), anchored)


def is_of_re(function: ast.expr) -> bool:
    return (
        isinstance(function, ast.Attribute)
        and isinstance(function.value, ast.Name)
        and function.value.id == "re"
        and function.attr in USES
    )


def text_of(node: ast.expr) -> str | bytes | None:
    if isinstance(node, ast.Constant) and isinstance(node.value, str | bytes):
        return node.value
    if isinstance(node, ast.JoinedStr):
        parts = [part.value if isinstance(part, ast.Constant) else "x" for part in node.values]
        return "".join(str(part) for part in parts)
    return None


def bound_names(tree: ast.Module) -> dict[ast.AST, str]:
    """The name to which an assignment binds each node of its value; of several that hold a node the outermost."""
    names: dict[ast.AST, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign):
            name = next((target.id for target in node.targets if isinstance(target, ast.Name)), "")
            for inner in ast.walk(node.value):
                names.setdefault(inner, name)
    return names


def fully_matched(tree: ast.Module) -> set[str]:
    """Names of patterns that are only ever asked at the beginning of a text, where nothing is tried again."""
    asked: dict[str, set[str]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.attr in USES:
            asked.setdefault(node.value.id, set()).add(node.attr)
    return {name for name, uses in asked.items() if uses <= {"match", "fullmatch"}}


def flags_of(call: ast.Call) -> int:
    source = [ast.unparse(each) for each in call.args[1:]] + [
        ast.unparse(each.value) for each in call.keywords if each.arg == "flags"
    ]
    names = {name for each in source for name in re.findall(r"\bre\.([A-Z]+)\b", each)}
    return sum(int(getattr(re, name)) for name in names)


def adversaries(text: str | bytes, size: int) -> Iterator[str]:
    """Lines of one letter, and lines that begin the pattern again and again and never end it."""
    for letter in LETTERS:
        yield letter * size
    seeds = set(beginnings(text))
    for seed in sorted(seeds):
        yield (seed * (size // len(seed) + 1))[:size]
        for letter, end in product(("A", "0", " ", "-"), ENDS):
            yield (seed + letter * size)[: size - 1] + end


def beginnings(text: str | bytes) -> Iterator[str]:
    """What the pattern's first one, two, three … parts match."""
    parsed = sre_parse.parse(text if isinstance(text, str) else text.decode())
    for alternative in alternatives(list(parsed)):
        sample = ""
        for part in alternative:
            sample += sample_of(part)
            if sample:
                yield sample


def alternatives(parts: list[tuple[object, object]]) -> Iterator[list[tuple[object, object]]]:
    for place, (kind, value) in enumerate(parts):
        inner = branches(kind, value)
        if inner and place == 0:
            for branch in inner:
                yield from ([*each, *parts[1:]] for each in alternatives(list(branch)))
            return
    yield parts


def branches(kind: object, value: object) -> list[list[tuple[object, object]]]:
    name = str(kind)
    if name == "BRANCH":
        return list(value[1])  # type: ignore[index]
    if name == "SUBPATTERN":
        return [list(value[3])]  # type: ignore[index]
    return []


def sample_of(part: tuple[object, object]) -> str:
    """The shortest text of one part that is not empty."""
    kind, value = str(part[0]), part[1]
    if kind == "LITERAL":
        return chr(value)  # type: ignore[arg-type]
    if kind in ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"):
        least, _, inner = value  # type: ignore[misc]
        return "".join(map(sample_of, inner)) * max(1, min(int(least), 64))
    if kind == "SUBPATTERN":
        return "".join(map(sample_of, value[3]))  # type: ignore[index]
    if kind == "BRANCH":
        return "".join(map(sample_of, value[1][0]))  # type: ignore[index]
    if kind == "IN":
        return in_class(value)
    return "A" if kind in ("ANY", "NOT_LITERAL") else ""


def in_class(items: object) -> str:
    for kind, value in items:  # type: ignore[attr-defined]
        if str(kind) == "LITERAL":
            return chr(value)
        if str(kind) == "RANGE":
            return chr(value[0])
        if str(kind) == "CATEGORY":
            return {"DIGIT": "0", "SPACE": " ", "WORD": "A"}.get(str(value).removeprefix("CATEGORY_"), "A")
    return "A"


def is_slow(pattern: Pattern, size: int) -> bool:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        known = re.compile(pattern.text, pattern.flags)
    for line in adversaries(pattern.text, size):
        tried = line if isinstance(pattern.text, str) else line.encode()
        try:
            try_within_limit(known, tried, pattern.anchored)
        except TooSlow:
            return True
    return False


def try_within_limit(known: re.Pattern[Any], line: str | bytes, anchored: bool) -> None:
    signal.setitimer(signal.ITIMER_VIRTUAL, CPU_SECONDS)
    try:
        known.fullmatch(line)
        known.match(line)
        for _ in () if anchored else known.finditer(line):
            pass
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)


def give_up(_signal: int, _frame: FrameType | None) -> NoReturn:
    raise TooSlow


def main(arguments: list[str]) -> int:
    size, texts = int(arguments[0]), arguments[1:]
    tried = [Pattern(text, text, 0, anchored=False) for text in texts] or all_patterns()
    resource.setrlimit(resource.RLIMIT_CPU, (300, 300))
    signal.signal(signal.SIGVTALRM, give_up)
    print(json.dumps([each.where for each in tried if is_slow(each, size)]))
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
