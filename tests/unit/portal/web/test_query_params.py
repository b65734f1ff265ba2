"""Filters and page positions come out of an address that anybody can write."""

from types import SimpleNamespace

import pytest
from flask import Flask

from cluster.domain.errors import Refused
from cluster.store.base import LARGEST_ID
from portal.web.query_params import (
    choice_param,
    current_url_with,
    id_param,
    parse_id,
    parse_node_ids,
    split_page,
)


@pytest.fixture
def app() -> Flask:
    app = Flask(__name__)
    app.add_url_rule("/jobs/<int:job_id>", "jobs", lambda job_id: "")
    return app


def test_a_choice_is_one_of_those_allowed(app: Flask) -> None:
    with app.test_request_context("/jobs/1?state=waiting&tab="):
        assert choice_param("state", ["waiting", "running"]) == "waiting"
        assert choice_param("tab", ["log"], "log") == "log"
        with pytest.raises(Refused):
            choice_param("state", ["running"])


@pytest.mark.parametrize(
    ("text", "number"), [("", None), ("7", 7), ("0", 0), ("999999999999", min(999999999999, LARGEST_ID))]
)
def test_an_id_is_a_whole_number_that_the_database_can_compare(text: str, number: int | None) -> None:
    assert parse_id({"after": text}, "after") == number


@pytest.mark.parametrize("text", ["-1", "1.5", "one", "٣", "9" * 13])
def test_what_is_no_id_is_refused(text: str) -> None:
    with pytest.raises(Refused):
        parse_id({"after": text}, "after")


def test_links_change_some_filters_and_keep_the_others(app: Flask) -> None:
    with app.test_request_context("/jobs/4?state=waiting&after=9"):
        assert id_param("after") == 9
        assert current_url_with(after=None, page=2) == "/jobs/4?state=waiting&page=2"


@pytest.mark.parametrize("name", ["endpoint", "_method", "_external", "_scheme", "_anchor", "job_id", "self"])
def test_a_parameter_with_any_name_is_only_kept(app: Flask, name: str) -> None:
    with app.test_request_context(f"/jobs/4?{name}=https"):
        assert current_url_with(show=[1, 2]) == f"/jobs/4?{name}=https&show=1&show=2"


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("", []),
        (" , ,", []),
        ("3", [3]),
        ("3, 1,2", [3, 1, 2]),
        ("gpu01,2", [0, 2]),
        ("-1,1.5,٣", [0, 0, 0]),
        (str(LARGEST_ID), [LARGEST_ID]),
        (str(LARGEST_ID + 1), [0]),
        ("9" * 5000, [0]),
    ],
)
def test_what_is_no_id_is_a_node_that_there_is_not(text: str, ids: list[int]) -> None:
    assert parse_node_ids(text) == ids


@pytest.mark.parametrize(
    ("ids", "page", "more"), [([], [], None), ([9, 8], [9, 8], None), ([9, 8, 7], [9, 8], 8)]
)
def test_a_row_more_than_the_page_says_that_another_page_follows(
    ids: list[int], page: list[int], more: int | None
) -> None:
    rows, next_id = split_page([SimpleNamespace(id=each) for each in ids], 2)
    assert ([row.id for row in rows], next_id) == (page, more)
