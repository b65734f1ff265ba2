"""The theme of a request."""

import pytest
from flask import Flask, g, url_for
from markupsafe import Markup

from portal.layout import theme
from portal.rendering import answer_marks


@pytest.mark.parametrize(
    ("row", "cookie", "chosen"),
    [
        (None, None, None),
        (None, "dark", "dark"),
        ("light", "dark", "light"),
        (None, "neon", None),
    ],
)
def test_the_persons_row_counts_before_the_cookie(
    bare_app: Flask, row: str | None, cookie: str | None, chosen: str | None
) -> None:
    headers = {"Cookie": f"{theme.THEME_COOKIE}={cookie}"} if cookie else {}
    with bare_app.test_request_context("/", headers=headers):
        g.theme = row
        assert theme.chosen_theme() == chosen
        assert theme.current_theme() == (chosen or "light")
        assert theme.follows_system_theme() is (chosen is None)


def test_addresses_of_static_files_carry_the_version(bare_app: Flask) -> None:
    answer_marks.init_app(bare_app)
    theme.init_app(bare_app)
    with bare_app.test_request_context("/"):
        assert "?v=" in url_for("static", filename="app.css")
        urls = theme.StaticUrls()
        sprite = url_for("static", filename=theme.ICON_SPRITE)
        assert urls.icon("box") == f'<svg class="icon " aria-hidden="true"><use href="{sprite}#box"/></svg>'
        assert 'role="img" aria-label="a &lt;b"' in urls.icon("box", "a <b")
        assert 'aria-label="a <b"' in urls.icon("box", Markup("a <b"))
        assert urls.url("app.css") is urls.url("app.css")


def test_a_stream_begins_a_second_before_its_page(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(theme.time, "time", lambda: 1_000.5)
    assert theme.stream_start_id() == "999000-0"
