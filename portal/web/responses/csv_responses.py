"""Streams tables as CSV files."""

from collections.abc import Iterable, Iterator, Sequence

from werkzeug.wrappers import Response

from portal.csv_text import CsvCell, csv_line


def csv_response(filename: str, head: Sequence[str], rows: Iterable[Sequence[CsvCell]]) -> Response:
    """Starts with a byte order mark, without which Excel misreads Korean."""
    return csv_attachment(filename, csv_lines(head, rows))


def csv_attachment(filename: str, text: Iterable[str]) -> Response:
    """CSV text as a file that the browser saves."""
    response = Response(text, mimetype="text/csv")
    response.headers.set("Content-Disposition", "attachment", filename=filename)
    return response


def csv_lines(head: Sequence[str], rows: Iterable[Sequence[CsvCell]]) -> Iterator[str]:
    yield "\ufeff" + csv_line(head)
    for row in rows:
        yield csv_line(row)
