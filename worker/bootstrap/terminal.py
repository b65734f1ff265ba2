"""Print sentences in the terminal's language, English or Korean. Standard library only."""

import ast
import os
import sys
from functools import cache
from pathlib import Path
from typing import NoReturn

PACKAGE = Path(__file__).resolve().parent
CATALOGUES = (PACKAGE / "ko.po", PACKAGE.parent / "console" / "ko.po")
"""What the terminal is told before there is a portal, and by the console."""


def is_terminal_korean() -> bool:
    """Whether the terminal's locale is Korean, by the first variable that the C library would read."""
    for name in ("LC_ALL", "LC_MESSAGES", "LANG"):
        value = os.environ.get(name)
        if value:
            return value.startswith("ko")
    return False


def language_of_terminal() -> str:
    """For cluster.words."""
    return "ko" if is_terminal_korean() else "en"


@cache
def read_korean_catalogues() -> dict[str, str]:
    """Every catalogue: of the .po format only what they need, as Babel is not there yet."""
    entries: list[dict[str, str]] = []
    key = ""
    lines = [line for file in CATALOGUES for line in file.read_text(encoding="utf-8").splitlines()]
    for line in lines:
        word, _, quoted = line.partition(" ")
        if word in {"msgid", "msgstr"}:
            key = word
            if word == "msgid":
                entries.append({"msgid": "", "msgstr": ""})
            entries[-1][key] += ast.literal_eval(quoted)
        elif line.startswith('"'):
            entries[-1][key] += ast.literal_eval(line)
    return {entry["msgid"]: entry["msgstr"] for entry in entries if entry["msgid"]}


def terminal_text(english: str, **data: object) -> str:
    """The sentence in the terminal's language, with its numbers and names filled in."""
    sentence = read_korean_catalogues().get(english, english) if is_terminal_korean() else english
    return sentence.format(**data)


def print_sentence(english: str, **data: object) -> None:
    """Print one sentence."""
    print(terminal_text(english, **data), flush=True)


def print_error(english: str, **data: object) -> None:
    """Print one sentence where errors go."""
    sys.stdout.flush()
    print(terminal_text(english, **data), file=sys.stderr, flush=True)


def exit_with_error(english: str, **data: object) -> NoReturn:
    """End with a sentence that says what to do next."""
    print_error(english, **data)
    raise SystemExit(1)
