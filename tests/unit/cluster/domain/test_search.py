"""What is typed into the search box, as a beginning of names and a number."""

import pytest

from cluster.domain.search import SearchQuery, parse_search_query


@pytest.mark.parametrize(
    ("typed", "text", "prefix", "number"),
    [
        ("lenet", "lenet", "lenet", None),
        ("  LeNet ", "LeNet", "lenet", None),
        ("job-12", "job-12", "job-12", 12),
        ("#12", "#12", "#12", 12),
        ("12", "12", "12", 12),
        ("9999999999", "9999999999", "9999999999", None),
        ("큰데이터", "큰데이터", "keundeiteo", None),
        ("서연 김", "서연 김", "", None),
        ("café", "café", "", None),
        ("", "", "", None),
        ("x" * 80, "x" * 60, "x" * 60, None),
    ],
)
def test_a_query_is_the_beginning_of_a_name_and_perhaps_a_number(
    typed: str, text: str, prefix: str, number: int | None
) -> None:
    assert parse_search_query(typed) == SearchQuery(text, prefix, number)


@pytest.mark.parametrize(
    ("name", "is_within"), [("lenet", True), ("lenet-7=x.z", True), ("lenes", False), ("leneu", False)]
)
def test_names_that_begin_so_are_those_before_the_end(name: str, is_within: bool) -> None:
    query = parse_search_query("lenet")
    assert (query.prefix <= name < query.prefix_end) is is_within
