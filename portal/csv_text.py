"""Writes rows as CSV text (RFC 4180) and escapes cells that a spreadsheet would run as formulas."""

import csv
import io
from collections.abc import Sequence

FORMULA_PREFIXES = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
"""The signs with which a formula begins. Spreadsheets of East Asia accept the full-width signs too."""

CsvCell = str | int | float | None


def csv_line(row: Sequence[CsvCell]) -> str:
    """One row with its line end; None is an empty cell."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\r\n").writerow([escape_formula(cell) for cell in row])
    return text.getvalue()


def escape_formula(cell: CsvCell) -> CsvCell:
    """Puts an apostrophe before a text that begins like a formula; a number, also one as text, stays as it is."""
    if isinstance(cell, str) and cell.startswith(FORMULA_PREFIXES) and not is_plain_number(cell):
        return "'" + cell
    return cell


def is_plain_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return text.isascii() and text.strip() == text
