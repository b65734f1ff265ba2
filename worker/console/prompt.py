"""Print lines and read answers in the language of the terminal."""

import sys
from functools import cache
from pathlib import Path
from typing import Any

from cluster import words
from cluster.domain.errors import GroundcrewError
from cluster.domain.repairs.definition import BilingualText
from cluster.domain.repairs.run_matrix import to_printable
from cluster.services.context import Cluster
from cluster.words.translations import Translations, load_translations
from worker.bootstrap.terminal import language_of_terminal

__all__ = [
    "ask_for_line",
    "print_domain_error",
    "bilingual_text",
    "print_line",
    "parse_choice",
    "terminal_sentence",
    "print_console_text",
    "console_text",
    "print_title",
]


TRANSLATIONS = Path(__file__).parent / "translations"


@cache
def console_translations(language: str) -> Translations:
    """The console's translations. Empty for English."""
    return load_translations(TRANSLATIONS, language)


def console_text(english: str, **data: object) -> str:
    """The console's sentence in the terminal's language, with its numbers and names filled in."""
    sentence: str = console_translations(language_of_terminal()).gettext(english)
    return sentence.format(**data)


def print_console_text(english: str, **data: object) -> None:
    sys.stdout.write(console_text(english, **data) + "\n")
    sys.stdout.flush()


def print_line(plain: str = "") -> None:
    """Prints text of programs or people without control characters."""
    sys.stdout.write(to_printable(plain) + "\n")
    sys.stdout.flush()


def print_title(plain: str) -> None:
    print_line()
    print_line(plain)
    print_line("-" * len(plain))


def ask_for_line(question: str) -> str | None:
    """The typed line without surrounding blanks. None at the end of the input."""
    sys.stdout.write(question + " ")
    sys.stdout.flush()
    typed = sys.stdin.readline()
    return typed.strip() if typed else None


def parse_choice(typed: str, most: int) -> int | None:
    """The chosen number, or None if it is not one of 1 to `most`."""
    is_number = typed.isascii() and typed.isdigit() and len(typed) < 4
    return int(typed) if is_number and 1 <= int(typed) <= most else None


def bilingual_text(found: BilingualText) -> str:
    return found.in_language(language_of_terminal())


def terminal_sentence(cluster: Cluster, code: str, data: dict[str, Any] | None = None) -> str:
    return words.sentence(code, data, language_of_terminal(), cluster.settings.zone, cluster.clock())


def print_domain_error(cluster: Cluster, error: GroundcrewError) -> None:
    """Prints the error's sentence and its hint."""
    print_line(terminal_sentence(cluster, error.code, error.data))
    hint = words.hint(error.code, error.data, language_of_terminal())
    if hint:
        print_line(hint)
