"""Tables are sent as CSV files."""

from portal.web.responses.csv_responses import csv_lines, csv_response


def test_a_file_begins_with_a_byte_order_mark_and_quotes_what_has_commas() -> None:
    lines = list(csv_lines(["이름", "units"], [["a, b", 2], ['say "hi"', None]]))
    assert lines == ["\ufeff이름,units\r\n", '"a, b",2\r\n', '"say ""hi""",\r\n']


def test_the_answer_is_a_file_with_a_name() -> None:
    response = csv_response("jobs.csv", ["a"], [[1]])
    assert response.mimetype == "text/csv"
    assert response.headers["Content-Disposition"] == "attachment; filename=jobs.csv"
    assert response.get_data(as_text=True) == "\ufeffa\r\n1\r\n"
