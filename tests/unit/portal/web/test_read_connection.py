"""The reads of one request share a connection, which is given back before anything is streamed."""

from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace

import pytest
from flask import Flask, Response

from cluster.services.context import Cluster
from portal.shared_objects import share_object
from portal.web import read_connection


@pytest.mark.parametrize(
    ("method", "path", "held"), [("GET", "/", 1), ("HEAD", "/", 1), ("POST", "/", 0), ("GET", "/static/x", 0)]
)
def test_only_reading_requests_hold_a_connection(method: str, path: str, held: int) -> None:
    connections: list[str] = []

    @contextmanager
    def reuse_connection() -> Iterator[None]:
        connections.append("open")
        yield
        connections.append("closed")

    app = Flask("portal")
    share_object(app, Cluster, SimpleNamespace(store=SimpleNamespace(reuse_connection=reuse_connection)))
    read_connection.init_app(app)

    @app.route("/", methods=["GET", "POST"])
    def page() -> Response:
        assert connections == ["open"] * held
        return Response("ok")

    app.test_client().open(path, method=method)
    assert connections == ["open", "closed"] * held
