"""Prints tables for people and JSON for programs, and formats sizes and times like the portal."""

import json
import os
import shutil
import sys
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any
from unicodedata import east_asian_width

import click

from .messages import message

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
    """Local time of an RFC 3339 moment; empty for none."""
    return datetime.fromisoformat(moment).astimezone().strftime("%Y-%m-%d %H:%M") if moment else ""


def readable_size(number: int | None) -> str:
    """Bytes in the largest unit that leaves a number of one or more; empty for None."""
    if number is None:
        return ""
    value, names = float(number), ["B", "KiB", "MiB", "GiB", "TiB"]
    while value >= 1024 and len(names) > 1:
        value /= 1024
        names.pop(0)
    return f"{value:.0f} {names[0]}" if names[0] == "B" or value >= 100 else f"{value:.1f} {names[0]}"
