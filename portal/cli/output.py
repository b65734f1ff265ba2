"""Prints tables for people and JSON, YAML, names or tab-separated values for programs, and formats values by the rules
of the pages."""

import json
import math
import os
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from unicodedata import east_asian_width

import click

from .messages import locale_language, message

DURATIONS = {
    "en": ((" d", 86400), (" h", 3600), (" min", 60), (" s", 1)),
    "ko": (("일", 86400), ("시간", 3600), ("분", 60), ("초", 1)),
}

FORMATS = ("table", "wide", "tsv", "json", "yaml", "name")
output_option = click.option(
    "-o",
    "--output",
    type=click.Choice(FORMATS),
    default=None,
    help="Where it is left out: a table in a terminal, else tab-separated values.",
)
Read = Callable[[Any], object]
"""The shown value of one row."""

GAP = "  "
NARROWEST_COLUMNS = 20
"""A sentence is not wrapped into lines shorter than this."""
SENTENCE = "Why"
"""The title of the only column that may be wrapped, because the others contain names."""


class Value(str):
    """A text for people that knows the value for programs: a moment of ISO 8601, bytes, seconds."""

    __slots__ = ("exact",)
    exact: object

    def __new__(cls, text: str, exact: object) -> "Value":
        value = super().__new__(cls, text)
        value.exact = exact
        return value


@dataclass(frozen=True)
class Table:
    """`name` is what other commands take as their argument; `wide` are the columns of `-o wide` alone."""

    name: Read
    columns: Mapping[str, Read]
    wide: Mapping[str, Read] = field(default_factory=dict)


def choose_format(output: str | None) -> str:
    """The form that `-o` asks for; without it a table if a person reads the output."""
    return output or ("table" if terminal_columns() < sys.maxsize else "tsv")


def show_document(document: Any, output: str) -> bool:
    """Prints JSON or YAML; False for the formats that are not of whole documents."""
    if output == "json":
        click.echo(json.dumps(document, ensure_ascii=False, indent=2))
    elif output == "yaml":
        import yaml  # Imported only for this format: most commands print none.

        click.echo(yaml.safe_dump(document, allow_unicode=True, sort_keys=False), nl=False)
    else:
        return False
    return True


def show_table(rows: list[dict[str, Any]], table: Table, output: str | None, document: Any = None) -> None:
    """Prints rows. `document` is what JSON and YAML print if the rows are only a part of it."""
    chosen = choose_format(output)
    if show_document(rows if document is None else document, chosen):
        return
    if chosen == "name":
        for row in rows:
            click.echo(str(table.name(row)))
        return
    columns = {**table.columns, **(table.wide if chosen in ("wide", "tsv") else {})}
    if chosen == "tsv":
        for row in rows:
            print_values(read(row) for read in columns.values())
        return
    sentence = columns.pop(SENTENCE, None)
    if sentence is not None:
        columns[SENTENCE] = sentence
    titles = [message(title) for title in columns]
    cells = [[" ".join(str(read(row)).split()) for read in columns.values()] for row in rows]
    print_aligned(titles, cells, has_sentence=sentence is not None)


def show_facts(
    document: Any, name: object, facts: Callable[[], Mapping[str, Any]], output: str | None
) -> None:
    """Prints a title and a value per line, and leaves out unknown values."""
    chosen = choose_format(output)
    if show_document(document, chosen):
        return
    if chosen == "name":
        click.echo(str(name))
        return
    print_facts(facts(), chosen)


def print_facts(facts: Mapping[str, Any], chosen: str) -> None:
    known = {title: value for title, value in facts.items() if value not in (None, "", [], {})}
    if chosen == "tsv":
        for title, value in known.items():
            print_values([title, value])
    elif known:
        print_aligned(
            None, [[message(title), str(value)] for title, value in known.items()], has_sentence=True
        )


def print_values(values: Iterable[object]) -> None:
    """One line for programs: no title, no padding, no space that would end a value."""
    exact = [value.exact if isinstance(value, Value) else value for value in values]
    click.echo("\t".join("" if one is None else " ".join(str(one).split()) for one in exact))


def print_aligned(titles: list[str] | None, rows: list[list[str]], has_sentence: bool) -> None:
    """Makes columns as wide as their widest cell. In a terminal the last one is wrapped if it is a sentence."""
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
    """The columns of a terminal that the text takes. Korean letters take two."""
    return len(text) if text.isascii() else sum(2 if east_asian_width(each) in "WF" else 1 for each in text)


def break_lines(text: str, room: int) -> Iterator[str]:
    """Lines of at most `room` columns. A longer word stays whole."""
    line = ""
    for word in text.split(" "):
        if line and text_width(line) + 1 + text_width(word) > room:
            yield line
            line = word
        else:
            line = f"{line} {word}" if line else word
    yield line


def terminal_columns() -> int:
    """The width of the terminal. Without a terminal nothing is wrapped."""
    if sys.stdout.isatty() or "COLUMNS" in os.environ:
        return shutil.get_terminal_size().columns
    return sys.maxsize


def local_datetime(moment: str | None) -> str:
    """ "14:38" today, "11-20 14:38" this year, else with the year, in this machine's zone. Empty for None."""
    if not moment:
        return ""
    here = datetime.fromisoformat(moment).astimezone()
    today = datetime.now(here.tzinfo).date()
    form = "%H:%M" if here.date() == today else "%m-%d %H:%M" if here.year == today.year else "%Y-%m-%d %H:%M"
    return Value(here.strftime(form), moment)


def readable_size(number: float | None) -> str:
    """The bytes in the largest binary unit that gives a number of one or more. Empty for None."""
    if number is None:
        return ""
    value, names = float(number), ["B", "KiB", "MiB", "GiB", "TiB", "PiB"]
    while round(value) >= 1024 and len(names) > 1:
        value /= 1024
        names.pop(0)
    digits = 0 if names[0] == "B" or value >= 99.95 else 1
    return Value(f"{value:.{digits}f} {names[0]}", number)


def readable_percent(share: float | None, digits: int = 0) -> str:
    """The share rounded down, so that only the whole is 100 %. Empty for None."""
    if share is None:
        return ""
    if not math.isfinite(share):
        return readable_number(share)
    scale: int = 10**digits
    return Value(f"{min(100.0, math.floor(share * 100 * scale + 1e-9) / scale):.{digits}f} %", share)


def readable_number(number: float | None, digits: int | None = None) -> str:
    """The number with separated thousands. Without `digits` a fraction has four significant
    figures. Empty for None.
    """
    if number is None:
        return ""
    if not math.isfinite(number):
        return "NaN" if math.isnan(number) else "∞" if number > 0 else "−∞"
    if digits is not None:
        return Value(f"{number:,.{digits}f}", number)
    if float(number).is_integer():
        return Value(f"{int(number):,}", number)
    return Value(f"{number:,.1f}" if abs(number) >= 1000 else f"{number:.4g}", number)


def readable_duration(seconds: float | None) -> str:
    """The duration in at most two units, "2 h 5 min". Empty for None."""
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
    return Value(" ".join(parts), seconds)


def readable_metric(name: str, value: float) -> str:
    """Formats accuracies as percents and other metrics as numbers."""
    return readable_percent(value, 1) if name.startswith("accuracy") else readable_number(value)
