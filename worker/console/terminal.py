"""The one place that prints and asks: plain lines, in the language of the terminal."""

import sys
from typing import Any

from cluster import words
from cluster.domain.errors import GroundcrewError
from cluster.domain.repair_runs import readable
from cluster.domain.repairs import Said
from cluster.services.context import Cluster
from worker.embedded.say import language, say, text

__all__ = ["answer", "complain_of", "in_words", "line", "read_number", "said", "say", "text", "title"]


def line(plain: str = "") -> None:
    """What programs and people wrote tells the terminal nothing but its letters."""
    sys.stdout.write(readable(plain) + "\n")
    sys.stdout.flush()


def title(plain: str) -> None:
    line()
    line(plain)
    line("-" * len(plain))


def answer(question: str) -> str | None:
    """What was typed, without its edges; None at the end of the input."""
    sys.stdout.write(question + " ")
    sys.stdout.flush()
    typed = sys.stdin.readline()
    return typed.strip() if typed else None


def read_number(typed: str, most: int) -> int | None:
    """None for what is none of 1 to `most`."""
    is_number = typed.isascii() and typed.isdigit() and len(typed) < 4
    return int(typed) if is_number and 1 <= int(typed) <= most else None


def in_words(found: Said) -> str:
    return found.in_language(language())


def said(cluster: Cluster, code: str, data: dict[str, Any] | None = None) -> str:
    return words.say(code, data, language(), cluster.settings.zone, cluster.clock())


def complain_of(cluster: Cluster, error: GroundcrewError) -> None:
    """The sentence, and what to do next."""
    line(said(cluster, error.code, error.data))
    hint = words.hint(error.code, error.data, language())
    if hint:
        line(hint)
