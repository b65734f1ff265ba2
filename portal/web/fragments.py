"""Renders the whole page for a browser, or only the fragment for htmx, from the same templates."""

from typing import Any

from flask import make_response, render_template
from werkzeug.wrappers import Response

from portal.web.request_context import is_fragment_request


def render_page_or_fragment(page: str, fragment: str, status: int = 200, **values: Any) -> Response:
    """`page` includes `fragment`; both may have the same address, so the answer varies by HX-Request."""
    response = make_response(render_template(fragment if is_fragment_request() else page, **values), status)
    response.headers.add("Vary", "HX-Request")
    return response
