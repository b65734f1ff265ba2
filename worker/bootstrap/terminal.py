"""Print sentences in the terminal's language, English or Korean. This module uses the standard library only."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
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
    """The language in the form that cluster.words takes."""
    return "ko" if is_terminal_korean() else "en"


def terminal_text(english: str, **data: object) -> str:
    """The sentence in the terminal's language, with its numbers and names filled in."""
    sentence = KOREAN.get(english, english) if is_terminal_korean() else english
    return sentence.format(**data)


def print_sentence(english: str, **data: object) -> None:
    """Print one sentence."""
    print(terminal_text(english, **data), flush=True)


@contextmanager
def until_reader_leaves() -> Iterator[None]:
    """Lets a reader such as `| head` close the output early without an error."""
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:
        # Python flushes once more when it exits, which would fail again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def print_error(english: str, **data: object) -> None:
    """Print one sentence to stderr."""
    sys.stdout.flush()
    print(terminal_text(english, **data), file=sys.stderr, flush=True)


def exit_with_error(english: str, **data: object) -> NoReturn:
    """Exit with code 1 and a sentence that says what to do next."""
    print_error(english, **data)
    raise SystemExit(1)
