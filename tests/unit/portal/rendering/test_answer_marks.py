"""Marks are written in each answer, for the person who gets it."""

from itertools import count

import pytest
from flask import Flask, Response, render_template_string

from portal.rendering import answer_marks
from portal.rendering.answer_marks import AnswerMarks
from portal.shared_objects import shared_object


@pytest.fixture
def app() -> Flask:
    app = Flask("portal")
    answer_marks.init_app(app)
    numbers = count(1)
    answer_marks.add_mark(app, "number", lambda: f"<{next(numbers)}>")

    @app.get("/<kind>")
    def page(kind: str) -> Response:
        html = render_template_string('<b title="{{ number() }}">{{ number() }}</b> mark-number.')
        answers = (part for part in [html]) if kind == "stream" else html
        return Response(answers, mimetype="text/plain" if kind == "text" else "text/html")

    return app


def test_each_answer_has_its_own_text_in_all_places(app: Flask) -> None:
    client = app.test_client()
    texts = [client.get("/page").text for _ in range(2)]
    assert texts == [f'<b title="&lt;{n}&gt;">&lt;{n}&gt;</b> mark-number.' for n in (1, 2)]


@pytest.mark.parametrize("kind", ["text", "stream"])
def test_only_whole_pages_are_read(app: Flask, kind: str) -> None:
    assert shared_object(AnswerMarks, app).prefix in app.test_client().get(f"/{kind}").text


def test_processes_of_one_installation_have_the_same_marks_and_others_have_others() -> None:
    prefixes = [AnswerMarks(key).prefix for key in ("a", "a", "b")]
    assert prefixes[0] == prefixes[1] != prefixes[2]


def test_the_length_is_that_of_what_is_sent(app: Flask) -> None:
    answer = app.test_client().get("/page")
    assert int(answer.headers["Content-Length"]) == len(answer.data)
