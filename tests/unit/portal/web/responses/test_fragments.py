"""One address has a page and its fragment."""

from itertools import count

import pytest
from flask import Flask, render_template_string
from flask.testing import FlaskClient
from jinja2 import DictLoader
from werkzeug.test import TestResponse

from portal.rendering import answer_marks
from portal.web.responses import fragments
from portal.web.responses.fragments import render_page_or_fragment
from portal.web.session_cookie import current_session_cookie


@pytest.mark.parametrize(("headers", "text"), [({}, "<html>7"), ({"HX-Request": "true"}, "7")])
def test_htmx_gets_the_fragment_and_caches_tell_them_apart(headers: dict[str, str], text: str) -> None:
    app = Flask("portal")
    app.jinja_env.loader = DictLoader({"page.html": "<html>{{ number }}", "_page.html": "{{ number }}"})
    with app.test_request_context("/", headers=headers):
        response = render_page_or_fragment("page.html", "_page.html", 409, number=7)
    assert (response.get_data(as_text=True), response.status_code) == (text, 409)
    assert response.headers["Vary"] == "HX-Request"


@pytest.fixture
def live(bare_app: Flask) -> FlaskClient:
    """A page with a number and a mark that differs in each answer."""
    answer_marks.init_app(bare_app)
    fragments.init_app(bare_app)
    marks = count(1)
    answer_marks.add_mark(bare_app, "masked", lambda: f"masked-{next(marks)}")

    @bare_app.route("/<int:number>", methods=["GET", "POST"])
    def page(number: int) -> str:
        return render_template_string("{{ number }} {{ masked() }}", number=number % 10)

    return bare_app.test_client()


def ask(client: FlaskClient, path: str, etag: str | None = None, **headers: str) -> TestResponse:
    given = {"HX-Request": "true"} | ({"If-None-Match": etag} if etag else {}) | headers
    return client.get(path, headers=given)


def test_a_fragment_that_the_browser_has_is_not_sent_again(live: FlaskClient) -> None:
    first = ask(live, "/7")
    assert (first.text, first.headers["Cache-Control"]) == ("7 masked-1", "private, no-cache")
    again = ask(live, "/17", first.headers["ETag"])
    assert (again.status_code, again.data) == (304, b"")
    other = ask(live, "/8", first.headers["ETag"])
    assert (other.status_code, other.text) == (200, "8 masked-2")


def test_what_one_session_has_is_not_what_another_has(live: FlaskClient, bare_app: Flask) -> None:
    """Its forms carry the token of the session."""
    before = ask(live, "/7").headers["ETag"]
    with bare_app.test_request_context():
        live.set_cookie(current_session_cookie(), "another")
    assert ask(live, "/7", before).status_code == 200


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_whole_pages_and_answers_to_forms_are_not_kept(live: FlaskClient, method: str) -> None:
    headers = {"HX-Request": "true"} if method == "POST" else {}
    answer = live.open("/7", method=method, headers=headers)
    assert ("ETag" in answer.headers, "Cache-Control" in answer.headers) == (False, False)
