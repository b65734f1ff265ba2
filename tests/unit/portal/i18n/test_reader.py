"""The reader of a page is noted for one request and no longer."""

from zoneinfo import ZoneInfo

import pytest
from flask import Flask

from portal.i18n import reader
from portal.i18n.reader import Reader, note_reader, noted_reader
from portal.i18n.reader_zone import request_zone
from portal.i18n.translate import request_language

KOREAN = Reader("ko", ZoneInfo("Asia/Seoul"))


class Broken(Exception):
    pass


@pytest.fixture
def app() -> Flask:
    app = Flask(__name__)
    reader.init_app(app)

    @app.get("/noted")
    def noted() -> str:
        note_reader(KOREAN)
        return f"{request_language()} {request_zone()}"

    @app.get("/broken")
    def broken() -> str:
        note_reader(KOREAN)
        raise Broken

    return app


def test_what_is_noted_is_what_words_are_written_for(app: Flask) -> None:
    answer = app.test_client().get("/noted", headers={"Accept-Language": "en"})
    assert answer.get_data(as_text=True) == "ko Asia/Seoul"


@pytest.mark.parametrize("path", ["/noted", "/broken"])
def test_the_next_request_of_a_thread_begins_with_nobody(app: Flask, path: str) -> None:
    app.test_client().get(path)
    assert noted_reader() is None
