"""A portal whose event hub sends nothing, and browsers that open its streams."""

import queue
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from cluster.services.context import Cluster
from cluster.services.people import sessions
from cluster.store.users import User
from portal import create_app
from portal.live.event_hub import EventHub
from portal.live.stream_slots import StreamSlots
from portal.shared_objects import share_object, shared_object


class SilentHub:
    @contextmanager
    def subscribe(self) -> Iterator[Any]:
        yield SimpleNamespace(has_overflowed=False, events=queue.Queue())


@pytest.fixture
def app(light_cluster: Cluster) -> Flask:
    app = create_app(light_cluster)
    share_object(app, EventHub, SilentHub())
    return app


def taken(app: Flask) -> int:
    return shared_object(StreamSlots, app).used_by_person.total()


def browser(app: Flask, user: User) -> FlaskClient:
    """Each has a session of its own."""
    cluster = shared_object(Cluster, app)
    client = app.test_client()
    token = sessions.begin_session(cluster, user.id, "192.0.2.1", "a test")
    client.set_cookie(f"gc_session_{cluster.settings.port}", token)
    return client


def opened(client: FlaskClient, **how: Any) -> TestResponse:
    return client.open("/stream?topics=jobs", **how)
