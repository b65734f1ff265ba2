"""The runbook matches a log line or an error code to its cause and to the repair that helps."""

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any

from cluster.domain.repairs.definition import CATALOGUE_NAME, BilingualText, CatalogueInvalid, parse_bilingual

LONGEST_LINE = 2000
"""The part of a log line that is matched; an untrusted program may have written the line."""
KEYS = frozenset({"name", "pattern", "codes", "cause", "repair"})


@dataclass(frozen=True)
class Symptom:
    """`repairs` are names of the catalogue; the first one that this installation offers is suggested. Without a
    pattern only codes match.
    """

    name: str
    cause: BilingualText
    pattern: re.Pattern[str] | None = None
    codes: frozenset[str] = frozenset()
    repairs: tuple[str, ...] = ()


@dataclass(frozen=True)
class SymptomMatch:
    """`line` is the line that matched. Empty if a code matched."""

    sign: Symptom
    line: str = ""


def parse_symptoms(file: str, document: Any) -> list[Symptom]:
    """Parses the runbook. Raises CatalogueInvalid."""
    try:
        return [parse_symptom(each) for each in document["signs"]]
    except (KeyError, TypeError, ValueError, AttributeError, re.error) as error:
        raise CatalogueInvalid(file, f"{type(error).__name__}: {error}") from error


def parse_symptom(value: Any) -> Symptom:
    name, unknown = str(value["name"]), sorted(set(value) - KEYS)
    if unknown or not CATALOGUE_NAME.fullmatch(name):
        raise ValueError(f"{name}: {', '.join(unknown) or 'no plain name'}")
    if not value.get("pattern") and not value.get("codes"):
        raise ValueError(f"{name}: neither a pattern nor codes")
    return Symptom(
        name=name,
        cause=parse_bilingual(value["cause"]),
        pattern=re.compile(value["pattern"]) if value.get("pattern") else None,
        codes=frozenset(map(str, value.get("codes", ()))),
        repairs=parse_repair_names(value.get("repair", [])),
    )


def parse_repair_names(value: str | list[str]) -> tuple[str, ...]:
    """One name, or several if kinds of installation have different repairs."""
    return (value,) if isinstance(value, str) else tuple(map(str, value))


def match_symptoms(signs: Collection[Symptom], code: str, lines: Iterable[str]) -> SymptomMatch | None:
    """A match of the code comes first, then that of the newest line. None if there is none."""
    for sign in signs:
        if code in sign.codes:
            return SymptomMatch(sign)
    for line in reversed(list(lines)):
        for sign in signs:
            if sign.pattern is not None and sign.pattern.search(line[:LONGEST_LINE]):
                return SymptomMatch(sign, line[:LONGEST_LINE].strip())
    return None
