"""Renders the whole page for a browser, or only the fragment for htmx, from the same templates.

If the browser has the fragment already, the answer is 304, because live pages ask for their fragments at every event.
"""

from hashlib import blake2b
from typing import Any

from flask import Flask, make_response, render_template, request
from flask import Response as FlaskResponse
from werkzeug.wrappers import Response

from portal.web.request_context import is_fragment_request
from portal.web.session_cookie import current_session_cookie


def init_app(app: Flask) -> None:
    """Must be called after `answer_marks`, because the ETag must not cover the masked CSRF token, which differs in each
    answer.
    """
    app.after_request(answer_unchanged)
    app.add_template_global(is_fragment_request)


def answer_unchanged(response: FlaskResponse) -> FlaskResponse:
    """Lets the browser keep fragments, for which a page asks again and again. It may not keep whole pages, so that
    nobody goes back to them once the person has signed out."""
    is_page = response.status_code == 200 and response.mimetype == "text/html" and not response.is_streamed
    if not (is_page and request.method == "GET" and is_fragment_request()):
        return response
    session = request.cookies.get(current_session_cookie(), "").encode()
    digest = blake2b(response.get_data(), key=blake2b(session).digest(), digest_size=16)
    response.headers["Cache-Control"] = "private, no-cache"
    response.vary.add("HX-Request")
    response.set_etag(digest.hexdigest(), weak=True)
    response.make_conditional(request)
    return response


def render_page_or_fragment(page: str, fragment: str, status: int = 200, **values: Any) -> Response:
    """`page` includes `fragment`; both may have the same address, so the answer varies by HX-Request."""
    response = make_response(render_template(fragment if is_fragment_request() else page, **values), status)
    response.vary.add("HX-Request")
    return response
