"""A row of CSV is one that a spreadsheet reads and does not run."""

import pytest

from portal.csv_text import CsvCell, csv_line, escape_formula


@pytest.mark.parametrize(
    ("cell", "written"),
    [
        ("=1+1", "'=1+1"),
        ("@SUM(A1)", "'@SUM(A1)"),
        ("+cmd|' /C calc'!A0", "'+cmd|' /C calc'!A0"),
        ("\t=1", "'\t=1"),
        ("\n=1", "'\n=1"),
        ("＝1+1", "'＝1+1"),
        ("＋1", "'＋1"),
        ("－1", "'－1"),
        ("＠SUM(A1)", "'＠SUM(A1)"),
        ("-12.5", "-12.5"),
        ("- 12", "'- 12"),
        ("-inf", "-inf"),
        (-3, -3),
        (None, None),
        ("job-1", "job-1"),
    ],
)
def test_a_text_that_begins_like_a_formula_gets_an_apostrophe(cell: CsvCell, written: CsvCell) -> None:
    assert escape_formula(cell) == written


def test_a_row_quotes_what_has_commas_and_escapes_formulas() -> None:
    assert csv_line(["a, b", 'say "hi"', None, 2, 0.5, "=1"]) == '"a, b","say ""hi""",,2,0.5,\'=1\r\n'
