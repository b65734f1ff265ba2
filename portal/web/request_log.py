"""Writes one JSON log line per request, with a request id that joins it to the other lines of the request.

Never a path or a query, which may carry a secret (a one-time link): the line names the route and its ids.
"""

import time

import structlog
from flask import Flask, Response, g, request

from portal.response_headers import choose_request_id

log = structlog.get_logger()

SECRET_ARGUMENTS = frozenset({"token", "secret", "filename"})


def init_app(app: Flask) -> None:
    app.before_request(start_request)
    app.after_request(log_request)


def start_request() -> None:
    g.request_id = choose_request_id(request.headers.get("X-Request-Id", ""))
    g.began = time.monotonic()
    structlog.contextvars.clear_contextvars()
    structlog.contextvars.bind_contextvars(request_id=g.request_id)


def log_request(response: Response) -> Response:
    response.headers["X-Request-Id"] = g.request_id
    if request.endpoint == "static":
        return response
    line = log.bind(
        method=request.method,
        route=request.url_rule.rule if request.url_rule else None,
        status=response.status_code,
        address=request.remote_addr,
        **{key: value for key, value in (request.view_args or {}).items() if key not in SECRET_ARGUMENTS},
    )
    actor = g.get("actor")
    if actor is not None:
        line = line.bind(user=actor.name)
    began = g.began

    def write_line() -> None:
        line.info("request", seconds=round(time.monotonic() - began, 3))

    # The line of a long download is written when it ends.
    response.call_on_close(write_line) if response.is_streamed else write_line()
    return response
