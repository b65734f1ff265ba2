"""Every macro, class and function of the pages is used by one; vendored files and the gallery do not count."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
STATIC = ROOT / "portal" / "static"
TEMPLATES = ROOT / "portal" / "templates"
GALLERY = TEMPLATES / "components"
GALLERY_CLASSES = {"series-samples", "state-samples", "thirds"}
"""Only the gallery arranges its samples so."""
WORD = r"[A-Za-z][\w-]*"


def read_all(*paths: Path) -> str:
    return "\n".join(path.read_text(encoding="utf-8") for path in paths)


def read_templates() -> str:
    """Without the comments, which name macros and classes too."""
    pages = [path for path in TEMPLATES.rglob("*.html") if GALLERY not in path.parents]
    return re.sub(r"\{#.*?#\}", "", read_all(*pages), flags=re.DOTALL)


def read_scripts() -> str:
    return re.sub(r"(?m)^\s*//.*$|\s// .*$", "", read_all(*STATIC.glob("js/*.js")))


@cache
def quoted_words() -> set[str]:
    """Words inside quotation marks: of templates without the texts that are translated, of scripts and of modules."""
    markup = re.sub(r'\b(?:_|ngettext)\(\s*"[^"]*"(?:,\s*"[^"]*")?', "", read_templates())
    markup += read_all(*STATIC.glob("front/*.html")) + read_scripts()
    words = set(re.findall(WORD, " ".join(re.findall(r'"[^"]*"|\'[^\']*\'|`[^`]*`', markup))))
    for module in [*(ROOT / "portal").rglob("*.py"), ROOT / "cluster/services/operations/lifecycle.py"]:
        for node in ast.walk(ast.parse(module.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                words |= {node.value, node.value.replace("_", "-")}
    return words


@cache
def composed_prefixes() -> tuple[str, ...]:
    """`"btn-" ~ kind`, `c{{ number }}` in a template, `a-${name}` in a script."""
    markup = read_templates() + read_scripts()
    found = re.findall(r"""["' ]([a-z]{1,8}-|[a-z])["'] ~ """, markup)
    found += re.findall(r"""["' ]([a-z]{1,8}-|[a-z])\{\{""", markup) + re.findall(r"`([a-z]+-)\$\{", markup)
    return tuple(found)


def is_used(name: str) -> bool:
    if name in quoted_words():
        return True
    rests = [name.removeprefix(prefix) for prefix in composed_prefixes() if name.startswith(prefix)]
    return any(rest.isdigit() or rest in quoted_words() for rest in rests)


@cache
def vendored_text() -> str:
    files = [path for path in (STATIC / "vendor").rglob("*") if path.suffix in (".css", ".js")]
    return "\n".join(path.read_text(encoding="utf-8", errors="replace") for path in files)


def classes_of(sheet: Path) -> set[str]:
    text = re.sub(r"/\*.*?\*/", "", sheet.read_text(encoding="utf-8"), flags=re.DOTALL)
    return set(re.findall(rf"\.({WORD})", " ".join(re.findall(r"([^{}]+)\{", text))))


def test_every_macro_is_called() -> None:
    text = read_templates()
    macros = re.findall(r"macro (\w+)\(", text)
    assert len(macros) > 40
    calls = set(re.findall(r"(?<!macro )\b(\w+)\(", text))
    calls |= set(re.findall(r'\brender_(?:kept|rows)\("[^"]+", "(\w+)"', text))
    calls |= {name for name, alias in re.findall(r"(\w+) as (\w+)", text) if alias in calls}
    assert sorted(set(macros) - calls) == []


@pytest.mark.parametrize(
    "sheet", sorted([*STATIC.glob("*.css"), *STATIC.glob("*/*.css")]), ids=lambda path: path.stem
)
def test_every_class_of_a_stylesheet_is_on_a_page(sheet: Path) -> None:
    unused = {name for name in classes_of(sheet) - GALLERY_CLASSES if not is_used(name)}
    assert sorted(name for name in unused if not re.search(rf"\b{name}\b", vendored_text())) == []


def test_every_function_of_a_script_is_called() -> None:
    text = read_scripts()
    names = set(re.findall(r"function (\w+)\(", text))
    names |= set(re.findall(r"(?m)^  (?:async )?(\w+)\([^)]*\) \{$", text))
    assert len(names) > 50
    assert sorted(name for name in names if len(re.findall(rf"\b{name}\b", text)) < 2) == []


def test_every_data_attribute_is_read() -> None:
    """By a script, by its name or by that of the property of `dataset`; or by a stylesheet."""
    readers = read_scripts() + read_all(STATIC / "app.css", *STATIC.glob("css/*.css")) + vendored_text()
    names = set(re.findall(r"\sdata-([a-z-]+)", read_templates()))
    assert len(names) > 30
    names -= {"fact", "value"}  # What is marked is read by tests/pages/portal/test_facts.py.
    unread = {name for name in names if f"data-{name}" not in readers and camel_case(name) not in readers}
    assert sorted(unread) == []


def camel_case(name: str) -> str:
    return re.sub(r"-(\w)", lambda match: match[1].upper(), name)


@pytest.mark.parametrize("name", ["nowhere-at-all", "btn-nowhere", "c-1"])
def test_a_class_that_no_page_has_is_found(name: str) -> None:
    assert not is_used(name)


@pytest.mark.parametrize("name", ["panel", "btn-danger", "c3", "s8", "a-red", "is-fault"])
def test_a_class_of_a_page_is_used_however_its_name_is_made(name: str) -> None:
    assert is_used(name)
