"""Every string of the portal speaks Korean: none missing, none left in English, none said in two ways."""

from __future__ import annotations

import re
from collections import defaultdict
from functools import cache
from pathlib import Path

import pytest
from babel.messages.extract import extract_from_dir
from babel.messages.pofile import read_po

PORTAL = Path(__file__).parents[4] / "portal"
NAMES = PORTAL / "translations" / "names.txt"
"""Names of things that stay Latin (GPU, LeNet, REST …), one a line: the only strings that may be equal."""
METHODS = [("translations/**", "ignore"), ("static/**", "ignore"), ("**.py", "python"), ("**.html", "jinja2")]
OPTIONS = {"**.html": {"trim_blocks": "true", "lstrip_blocks": "true", "silent": "false"}}
KEYWORDS = {"_": None, "gettext": None, "ngettext": (1, 2), "lazy_gettext": None, "N_": None}
PLACEHOLDER = re.compile(r"%\(\w+\)s|\{\w+\}")

Message = str | tuple[str, ...]


@cache
def extracted() -> dict[Message, str]:
    """Message → one place where it stands, from templates and code."""
    found: dict[Message, str] = {}
    # Babel leaves out folders that begin with an underscore unless told otherwise: our macros live in one.
    for name, line, message, _comments, _context in extract_from_dir(
        PORTAL, METHODS, OPTIONS, KEYWORDS, directory_filter=lambda _folder: True
    ):
        found.setdefault(tuple(message) if isinstance(message, tuple | list) else message, f"{name}:{line}")
    return found


@cache
def korean() -> dict[str, dict[str, str]]:
    """English (the singular) → Korean by file."""
    said: dict[str, dict[str, str]] = defaultdict(dict)
    for path in sorted((PORTAL / "translations" / "ko").glob("*.po")):
        with path.open("rb") as file:
            for message in read_po(file, locale="ko"):
                text = message.string if isinstance(message.string, str) else message.string[0]
                identity = message.id if isinstance(message.id, str) else message.id[0]
                if identity and text:
                    said[identity][path.name] = text
    return dict(said)


def names() -> set[str]:
    return set(NAMES.read_text(encoding="utf-8").split("\n")) - {""}


def first(message: Message) -> str:
    return message if isinstance(message, str) else message[0]


def test_the_macros_are_among_the_templates() -> None:
    assert any("_macros" in place for place in extracted().values())


def test_no_korean_string_is_missing() -> None:
    missing = [
        f"{place}: {first(message)!r}"
        for message, place in extracted().items()
        if first(message) not in korean() and first(message) not in names()
    ]
    assert not missing, "\n".join(missing)


def test_no_korean_string_equals_its_english() -> None:
    equal = [f"{file}: {english!r}" for english, files in korean().items() for file, text in files.items()
             if text == english and english not in names()]  # fmt: skip
    assert not equal, "\n".join(equal)


def test_the_same_english_is_the_same_korean_in_every_file() -> None:
    different = [
        f"{english!r}: {files}" for english, files in korean().items() if len(set(files.values())) > 1
    ]
    assert not different, "\n".join(different)


def test_placeholders_survive_translation() -> None:
    broken = [
        f"{file}: {english!r} → {text!r}"
        for english, files in korean().items()
        for file, text in files.items()
        if set(PLACEHOLDER.findall(text)) - {"%(num)s"} != set(PLACEHOLDER.findall(english)) - {"%(num)s"}
    ]
    assert not broken, "\n".join(broken)


@pytest.mark.parametrize("path", sorted((PORTAL / "translations" / "ko").glob("*.po")), ids=lambda p: p.stem)
def test_a_translation_file_says_nothing_twice(path: Path) -> None:
    said = re.findall(r'^msgid "(.+)"$', path.read_text(encoding="utf-8"), re.MULTILINE)
    assert len(said) == len(set(said)), sorted({text for text in said if said.count(text) > 1})
