"""Tables as CSV that a spreadsheet opens without running what strangers wrote into a cell."""

import csv
import io
from collections.abc import Iterable, Iterator, Sequence

from werkzeug.wrappers import Response

FORMULA = ("=", "+", "-", "@", "\t", "\r")

Cell = str | int | float | None


def csv_response(filename: str, head: Sequence[str], rows: Iterable[Sequence[Cell]]) -> Response:
    """With a byte order mark, without which Excel does not know Korean."""
    response = Response(lines(head, rows), mimetype="text/csv")
    response.headers.set("Content-Disposition", "attachment", filename=filename)
    return response


def lines(head: Sequence[str], rows: Iterable[Sequence[Cell]]) -> Iterator[str]:
    yield "\ufeff" + line(head)
    for row in rows:
        yield line(row)


def line(row: Sequence[Cell]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\r\n").writerow([safe(cell) for cell in row])
    return text.getvalue()


def safe(cell: Cell) -> Cell:
    """A text that begins like a formula gets an apostrophe; a number is none, also where it is text."""
    if isinstance(cell, str) and cell.startswith(FORMULA) and not is_number(cell):
        return "'" + cell
    return cell


def is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return text.isascii() and text.strip() == text
