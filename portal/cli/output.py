"""Prints tables for people and JSON for programs, and formats values by the rules of the pages."""

import json
import math
from datetime import datetime
from typing import Any

import click
from rich.console import Console
from rich.table import Table

from .messages import locale_language, message

DURATIONS = {
    "en": ((" d", 86400), (" h", 3600), (" min", 60), (" s", 1)),
    "ko": (("일", 86400), ("시간", 3600), ("분", 60), ("초", 1)),
}

output_option = click.option("-o", "--output", type=click.Choice(["table", "json"]), default="table")


def show_table(rows: list[dict[str, Any]], columns: dict[str, Any], output: str) -> None:
    """`columns` maps a title to a function of the row."""
    if output == "json":
        click.echo(json.dumps(rows, ensure_ascii=False, indent=2))
        return
    table = Table(box=None, pad_edge=False, header_style="bold")
    for title in columns:
        # Only the sentence at the end of a row may break; a name that does is no name any more.
        table.add_column(message(title), overflow="fold", no_wrap=title != "Why")
    for row in rows:
        table.add_row(*(str(read(row)) for read in columns.values()))
    Console(soft_wrap=False).print(table)


def show_facts(facts: dict[str, Any]) -> None:
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    for title, value in facts.items():
        if value not in (None, "", [], {}):
            table.add_row(message(title), str(value))
    Console(soft_wrap=False).print(table)


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
