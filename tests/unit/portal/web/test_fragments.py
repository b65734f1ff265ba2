"""One address has a page and its fragment."""

import pytest
from flask import Flask
from jinja2 import DictLoader

from portal.web.fragments import render_page_or_fragment


@pytest.mark.parametrize(("headers", "text"), [({}, "<html>7"), ({"HX-Request": "true"}, "7")])
def test_htmx_gets_the_fragment_and_caches_tell_them_apart(headers: dict[str, str], text: str) -> None:
    app = Flask("portal")
    app.jinja_env.loader = DictLoader({"page.html": "<html>{{ number }}", "_page.html": "{{ number }}"})
    with app.test_request_context("/", headers=headers):
        response = render_page_or_fragment("page.html", "_page.html", 409, number=7)
    assert (response.get_data(as_text=True), response.status_code) == (text, 409)
    assert response.headers["Vary"] == "HX-Request"
