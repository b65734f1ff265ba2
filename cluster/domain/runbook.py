"""The runbook as data: a sign in a log or a code, what it means, and which repair helps."""

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any

from cluster.domain.repairs import NAME, CatalogueBroken, Said, parse_said

LONGEST_LINE = 2000
"""Of a line of a log, which a stranger may have written, so much is looked at."""
KEYS = frozenset({"name", "pattern", "codes", "cause", "repair"})


@dataclass(frozen=True)
class Sign:
    """`repairs` are names of the catalogue, the first that is offered here helps; without a pattern only codes fit."""

    name: str
    cause: Said
    pattern: re.Pattern[str] | None = None
    codes: frozenset[str] = frozenset()
    repairs: tuple[str, ...] = ()


@dataclass(frozen=True)
class Match:
    """`line` is where the sign stood; empty where a code said it."""

    sign: Sign
    line: str = ""


def parse_signs(file: str, document: Any) -> list[Sign]:
    """Raises CatalogueBroken."""
    try:
        return [parse_sign(each) for each in document["signs"]]
    except (KeyError, TypeError, ValueError, AttributeError, re.error) as error:
        raise CatalogueBroken(file, f"{type(error).__name__}: {error}") from error


def parse_sign(value: Any) -> Sign:
    name, unknown = str(value["name"]), sorted(set(value) - KEYS)
    if unknown or not NAME.fullmatch(name):
        raise ValueError(f"{name}: {', '.join(unknown) or 'no plain name'}")
    if not value.get("pattern") and not value.get("codes"):
        raise ValueError(f"{name}: neither a pattern nor codes")
    return Sign(
        name=name,
        cause=parse_said(value["cause"]),
        pattern=re.compile(value["pattern"]) if value.get("pattern") else None,
        codes=frozenset(map(str, value.get("codes", ()))),
        repairs=parse_repairs(value.get("repair", [])),
    )


def parse_repairs(value: str | list[str]) -> tuple[str, ...]:
    """One name, or several where each kind of installation has its own."""
    return (value,) if isinstance(value, str) else tuple(map(str, value))


def match_signs(signs: Collection[Sign], code: str, lines: Iterable[str]) -> Match | None:
    """What the code says comes first; of the log the newest line that fits. None where nothing is known."""
    for sign in signs:
        if code in sign.codes:
            return Match(sign)
    for line in reversed(list(lines)):
        for sign in signs:
            if sign.pattern is not None and sign.pattern.search(line[:LONGEST_LINE]):
                return Match(sign, line[:LONGEST_LINE].strip())
    return None
