"""Print sentences in the terminal's language, English or Korean. Standard library only."""

import os
import sys
from typing import NoReturn

from worker.bootstrap.korean import KOREAN


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


def terminal_text(english: str, **data: object) -> str:
    """The sentence in the terminal's language, with its numbers and names filled in."""
    sentence = KOREAN.get(english, english) if is_terminal_korean() else english
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
