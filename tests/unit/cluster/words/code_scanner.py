"""Finds in the source every code that somebody may have to read: errors, ends, audit actions, steps, history."""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[4]
PACKAGES = ("cluster", "portal", "worker")

ERRORS = {
    "Refused": 1,
    "Forbidden": 0,
    "Conflict": 0,
    "Unavailable": 0,
    "GroundcrewError": 0,
    "BackupBroken": 0,
}
"""Where each error takes its code."""

FAMILIES = (
    "waiting",
    "interrupted",
    "exit",
    "start",
    "environment",
    "archive",
    "broken",
    "copying",
    "confinement",
)
"""First words of codes that also travel outside errors: rows, plans, exit.json."""


@dataclass(frozen=True)
class Found:
    """A code where it stands. `data` None: the call hands on data that cannot be read off the source."""

    code: str
    place: str
    group: str = "sentence"
    data: frozenset[str] | None = field(default=None, compare=False)


def sources() -> Iterator[tuple[Path, ast.Module]]:
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            if "models" not in path.parts:
                yield path, ast.parse(path.read_text(encoding="utf-8"))


def whole_source() -> str:
    """Code and templates as one text, without the tables of words themselves."""
    files = [path for package in PACKAGES for path in (ROOT / package).rglob("*.*")]
    kept = (path for path in files if path.suffix in (".py", ".html") and "english" not in path.parts)
    return "".join(path.read_text(encoding="utf-8") for path in kept)


def found_codes() -> list[Found]:
    codes: list[Found] = []
    for path, tree in sources():
        errors = dict(ERRORS)
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                codes += own_code(path, node, errors)
            elif isinstance(node, ast.Call):
                codes += called(path, node, errors)
            elif isinstance(node, ast.Constant) and is_travelling(node.value):
                codes.append(Found(node.value, where(path, node)))
    return codes


def said_in_templates() -> list[Found]:
    """Codes and groups of words that stand in templates: sentence_for("…"), word_for("group", …)."""
    found: list[Found] = []
    for path in sorted((ROOT / "portal").rglob("*.html")):
        text = path.read_text(encoding="utf-8")
        for name, code in SAID.findall(text):
            group = "group" if name == "word_for" else "title" if name == "title_for" else "sentence"
            found.append(Found(code, str(path.relative_to(ROOT)), group))
    return found


SAID = re.compile(r"""\b(sentence_for|hint_for|title_for|word_for)\(["']([a-z_]+(?:\.[a-z_]+)+)["']""")


def called(path: Path, call: ast.Call, errors: dict[str, int]) -> Iterator[Found]:
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    place = where(path, call)
    if name in errors:
        for code in texts(argument(call, errors[name], "code")):
            yield Found(code, place, data=data_of(call))
    elif name == "NotFound":
        for kind in texts(argument(call, 0, "kind")):
            yield Found(f"not_found.{kind}", place, data=frozenset({"id"}))
    elif name in ("sentence", "localized_sentence", "word", "localized_word"):
        for code in texts(argument(call, 0, "code")):
            if SHAPE.fullmatch(code):
                yield Found(code, place, "group" if name.endswith("word") else "sentence")
    elif name in ("add_audit_entry", "audit_entry_columns"):
        for code in texts(argument(call, 3 if name == "add_audit_entry" else 2, "action")):
            yield Found(code, place, "action")
    elif name == "report_step":
        for code in texts(argument(call, 3, "code")):
            yield Found(code, place, "step")
    elif name in ("plan_steps", "plan"):
        listed = argument(call, 3, "codes")
        for each in getattr(listed, "elts", []):
            for code in texts(each):
                yield Found(code, place, "step")
    elif name == "StepProgress":
        for key in getattr(argument(call, 2, "weights"), "keys", []):
            for code in texts(key):
                yield Found(code, place, "step")
    elif name in ("JobEvent", "add_job_event"):
        for code in texts(argument(call, 4, "code")):
            yield Found(code, place)


def own_code(path: Path, node: ast.ClassDef, errors: dict[str, int]) -> Iterator[Found]:
    """A class of its own for one error: the code stands in its super().__init__()."""
    if not any(getattr(base, "id", "") in errors for base in node.bases):
        return
    base = next(getattr(base, "id", "") for base in node.bases if getattr(base, "id", "") in errors)
    for call in ast.walk(node):
        if isinstance(call, ast.Call) and ast.unparse(call.func) == "super().__init__":
            for code in texts(argument(call, errors[base], "code")):
                yield Found(code, where(path, call), data=data_of(call))


def argument(call: ast.Call, position: int, name: str) -> ast.expr | None:
    if position < len(call.args):
        return call.args[position]
    return next((keyword.value for keyword in call.keywords if keyword.arg == name), None)


def texts(node: ast.expr | None) -> list[str]:
    """The texts that an expression may have; none for what only the running program knows."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return [node.value]
    if isinstance(node, ast.IfExp):
        return texts(node.body) + texts(node.orelse)
    return []


def data_of(call: ast.Call) -> frozenset[str] | None:
    names = [keyword.arg for keyword in call.keywords]
    return None if None in names else frozenset(name for name in names if name)


SHAPE = re.compile(r"[a-z_]+(\.[a-z_]+)+")


def is_travelling(value: object) -> bool:
    if not isinstance(value, str) or value.count(".") != 1:
        return False
    family, _, name = value.partition(".")
    return family in FAMILIES and name.replace("_", "").isalpha() and name.islower() and name not in ENDINGS


ENDINGS = {"json", "toml", "py", "txt", "log", "zip", "tar", "yml", "sh", "build", "po", "lock"}
"""`exit.json` and `environment.build_virtual_environment` are no codes of sentences."""


def where(path: Path, node: ast.AST) -> str:
    return f"{path.relative_to(ROOT)}:{getattr(node, 'lineno', 0)}"
