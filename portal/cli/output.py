"""Prints tables for people and JSON for programs, and formats sizes and times like the portal."""

import json
from datetime import datetime
from typing import Any

import click
from rich.console import Console
from rich.table import Table

from .messages import message

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
    """Local time of an RFC 3339 moment; empty for none."""
    return datetime.fromisoformat(moment).astimezone().strftime("%Y-%m-%d %H:%M") if moment else ""


def readable_size(number: int | None) -> str:
    """Bytes in the largest unit that leaves a number of one or more; empty where it is not known."""
    if number is None:
        return ""
    value, names = float(number), ["B", "KiB", "MiB", "GiB", "TiB"]
    while value >= 1024 and len(names) > 1:
        value /= 1024
        names.pop(0)
    return f"{value:.0f} {names[0]}" if names[0] == "B" or value >= 100 else f"{value:.1f} {names[0]}"
