"""Tables are written as CSV that a spreadsheet reads and does not run."""

import pytest

from portal.web.csv_responses import CsvCell, csv_lines, csv_response, escape_formula


@pytest.mark.parametrize(
    ("cell", "written"),
    [
        ("=1+1", "'=1+1"),
        ("@SUM(A1)", "'@SUM(A1)"),
        ("+cmd|' /C calc'!A0", "'+cmd|' /C calc'!A0"),
        ("\t=1", "'\t=1"),
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


def test_a_file_begins_with_a_byte_order_mark_and_quotes_what_has_commas() -> None:
    lines = list(csv_lines(["이름", "units"], [["a, b", 2], ['say "hi"', None]]))
    assert lines == ["\ufeff이름,units\r\n", '"a, b",2\r\n', '"say ""hi""",\r\n']


def test_the_answer_is_a_file_with_a_name() -> None:
    response = csv_response("jobs.csv", ["a"], [[1]])
    assert response.mimetype == "text/csv"
    assert response.headers["Content-Disposition"] == "attachment; filename=jobs.csv"
    assert response.get_data(as_text=True) == "\ufeffa\r\n1\r\n"
