"""Prints tables for people and JSON for programs, and formats values by the rules of the pages."""

import json
import math
import os
import shutil
import sys
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any
from unicodedata import east_asian_width

import click

from .messages import locale_language, message

DURATIONS = {
    "en": ((" d", 86400), (" h", 3600), (" min", 60), (" s", 1)),
    "ko": (("일", 86400), ("시간", 3600), ("분", 60), ("초", 1)),
}

output_option = click.option("-o", "--output", type=click.Choice(["table", "json"]), default="table")

GAP = "  "
NARROWEST_COLUMNS = 20
"""A sentence is not broken into lines shorter than this."""
SENTENCE = "Why"
"""The title of the column that may be broken into lines; any other would no longer be a name."""


def show_table(rows: list[dict[str, Any]], columns: dict[str, Any], output: str) -> None:
    """`columns` maps a title to a function of the row."""
    if output == "json":
        click.echo(json.dumps(rows, ensure_ascii=False, indent=2))
        return
    titles = [message(title) for title in columns]
    cells = [[str(read(row)) for read in columns.values()] for row in rows]
    print_aligned(titles, cells, has_sentence=SENTENCE in columns)


def show_facts(facts: dict[str, Any]) -> None:
    """Title and value per line, without what is not known."""
    cells = [
        [message(title), str(value)] for title, value in facts.items() if value not in (None, "", [], {})
    ]
    print_aligned(None, cells, has_sentence=True)


def print_aligned(titles: list[str] | None, rows: list[list[str]], has_sentence: bool) -> None:
    """Columns as wide as their widest cell. In a terminal the last one is broken into lines if it is a sentence."""
    widths = [
        max(map(text_width, column)) for column in zip(*([titles] if titles else []), *rows, strict=True)
    ]
    room = terminal_columns() - sum(widths[:-1]) - len(GAP) * (len(widths) - 1)
    for number, cells in enumerate([titles, *rows] if titles else rows):
        *head, last = cells
        lines = list(break_lines(last, max(room, NARROWEST_COLUMNS))) if has_sentence else [last]
        for line_number, line in enumerate(lines):
            shown = head if line_number == 0 else [""] * len(head)
            text = format_line([*shown, line], widths)
            is_title = titles is not None and number == 0
            click.echo(click.style(text, bold=True) if is_title else text)


def format_line(cells: Sequence[str], widths: Sequence[int]) -> str:
    return GAP.join(
        cell + " " * (width - text_width(cell)) for cell, width in zip(cells, widths, strict=True)
    ).rstrip()


def text_width(text: str) -> int:
    """Columns of a terminal: Korean letters take two."""
    return len(text) if text.isascii() else sum(2 if east_asian_width(each) in "WF" else 1 for each in text)


def break_lines(text: str, room: int) -> Iterator[str]:
    """Lines of at most `room` columns; a single word that is longer stays whole."""
    line = ""
    for word in text.split(" "):
        if line and text_width(line) + 1 + text_width(word) > room:
            yield line
            line = word
        else:
            line = f"{line} {word}" if line else word
    yield line


def terminal_columns() -> int:
    """Without a terminal nothing is broken: a program reads it, or a file keeps it."""
    if sys.stdout.isatty() or "COLUMNS" in os.environ:
        return shutil.get_terminal_size().columns
    return sys.maxsize


def local_datetime(moment: str | None) -> str:
    """ "14:38" today, "11-20 14:38" this year, else with the year, in this machine's zone; empty for none."""
    if not moment:
        return ""
    here = datetime.fromisoformat(moment).astimezone()
    today = datetime.now(here.tzinfo).date()
    if here.date() == today:
        return f"{here:%H:%M}"
    return f"{here:%m-%d %H:%M}" if here.year == today.year else f"{here:%Y-%m-%d %H:%M}"


def readable_size(number: float | None) -> str:
    """Bytes in the largest binary unit that leaves a number of one or more; empty for none."""
    if number is None:
        return ""
    value, names = float(number), ["B", "KiB", "MiB", "GiB", "TiB", "PiB"]
    while round(value) >= 1024 and len(names) > 1:
        value /= 1024
        names.pop(0)
    return f"{value:.0f} {names[0]}" if names[0] == "B" or value >= 99.95 else f"{value:.1f} {names[0]}"


def readable_percent(share: float | None, digits: int = 0) -> str:
    """Cut and not rounded: 100 is the whole and nothing less; empty for none."""
    if share is None:
        return ""
    if not math.isfinite(share):
        return readable_number(share)
    scale: int = 10**digits
    return f"{min(100.0, math.floor(share * 100 * scale + 1e-9) / scale):.{digits}f} %"


def readable_number(number: float | None, digits: int | None = None) -> str:
    """With thousands apart; without `digits` a fraction keeps four significant figures; empty for none."""
    if number is None:
        return ""
    if not math.isfinite(number):
        return "NaN" if math.isnan(number) else "∞" if number > 0 else "−∞"
    if digits is not None:
        return f"{number:,.{digits}f}"
    if float(number).is_integer():
        return f"{int(number):,}"
    return f"{number:,.1f}" if abs(number) >= 1000 else f"{number:.4g}"


def readable_duration(seconds: float | None) -> str:
    """At most two units, "2 h 5 min"; empty for none."""
    if seconds is None:
        return ""
    names = DURATIONS[locale_language()]
    left = max(0, round(seconds))
    first = next((place for place, (_, size) in enumerate(names) if left >= size), len(names) - 1)
    parts: list[str] = []
    for name, size in names[first : first + 2]:
        amount, left = divmod(left, size)
        if amount or not parts:
            parts.append(f"{amount}{name}")
    return " ".join(parts)


def readable_metric(name: str, value: float) -> str:
    """Accuracies are shares of the whole."""
    return readable_percent(value, 1) if name.startswith("accuracy") else readable_number(value)
