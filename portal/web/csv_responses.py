"""Streams tables as CSV and escapes cells that a spreadsheet would run as formulas."""

import csv
import io
from collections.abc import Iterable, Iterator, Sequence

from werkzeug.wrappers import Response

FORMULA_PREFIXES = ("=", "+", "-", "@", "\t", "\r")

CsvCell = str | int | float | None


def csv_response(filename: str, head: Sequence[str], rows: Iterable[Sequence[CsvCell]]) -> Response:
    """Starts with a byte order mark, without which Excel misreads Korean."""
    response = Response(csv_lines(head, rows), mimetype="text/csv")
    response.headers.set("Content-Disposition", "attachment", filename=filename)
    return response


def csv_lines(head: Sequence[str], rows: Iterable[Sequence[CsvCell]]) -> Iterator[str]:
    yield "\ufeff" + csv_line(head)
    for row in rows:
        yield csv_line(row)


def csv_line(row: Sequence[CsvCell]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\r\n").writerow([escape_formula(cell) for cell in row])
    return text.getvalue()


def escape_formula(cell: CsvCell) -> CsvCell:
    """A text that begins like a formula gets an apostrophe; a number is none, also where it is text."""
    if isinstance(cell, str) and cell.startswith(FORMULA_PREFIXES) and not is_plain_number(cell):
        return "'" + cell
    return cell


def is_plain_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return text.isascii() and text.strip() == text
