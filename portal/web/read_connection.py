"""Lets all reads of one request share one database connection."""

from contextlib import ExitStack

from flask import Flask, g, request

from portal.web.request_context import current_cluster


def init_app(app: Flask) -> None:
    app.before_request(open_read_connection)
    app.teardown_request(close_read_connection)


def open_read_connection() -> None:
    """Opens one connection for a GET or HEAD. Other requests share none, because an upload may take hours and reads
    once or twice.
    """
    if request.method in ("GET", "HEAD") and request.endpoint != "static":
        g.reading = ExitStack()
        g.reading.enter_context(current_cluster().store.reuse_connection())


def close_read_connection(_problem: BaseException | None) -> None:
    """Flask calls this before it streams the response, so that a long response holds no connection."""
    reading: ExitStack | None = g.pop("reading", None)
    if reading is not None:
        reading.close()
