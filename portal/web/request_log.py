"""Writes one JSON log line per request, with a request id that joins it to the other lines of the request, and an entry
of the audit if the request asked for a row that does not exist for its person. The line never has a path or a query,
which may contain a secret (a one-time link); it names the route and its ids.
"""

import time
from contextlib import suppress

import structlog
from flask import Flask, Response, g, request
from sqlalchemy.exc import DBAPIError, TimeoutError

from cluster.services.audit.unseen_things import record_unseen_thing
from portal.response_headers import choose_request_id
from portal.web.request_context import current_cluster

log = structlog.get_logger()

SECRET_ARGUMENTS = frozenset({"token", "secret", "filename"})


def init_app(app: Flask) -> None:
    app.before_request(start_request)
    app.after_request(record_not_found)
    app.after_request(log_request)


def start_request() -> None:
    g.request_id = choose_request_id(request.headers.get("X-Request-Id", ""))
    g.began = time.monotonic()
    structlog.contextvars.clear_contextvars()
    structlog.contextvars.bind_contextvars(request_id=g.request_id)


def record_not_found(response: Response) -> Response:
    """The answer is sent even if the database refuses the entry. A number that no row can have counts as a typing error
    and gets no entry.
    """
    error, actor = g.get("not_found"), g.get("actor")
    if error is not None and actor is not None and actor.user_id and isinstance(error.data.get("id"), int):
        with suppress(DBAPIError, TimeoutError):
            record_unseen_thing(current_cluster(), actor, error.kind, error.data["id"])
    return response


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
