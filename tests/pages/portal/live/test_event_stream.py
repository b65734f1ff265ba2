"""A person's streams take that person's places alone, and each of them is given back."""

import queue
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
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
from portal.live.event_stream import MAX_STREAMS, MAX_STREAMS_PER_PERSON, StreamSlots, TooManyStreams
from tests.builders import a_user


class SilentDoorbell:
    @contextmanager
    def subscribe(self) -> Iterator[Any]:
        yield SimpleNamespace(has_overflowed=False, events=queue.Queue())


@pytest.fixture
def app(light_cluster: Cluster) -> Flask:
    app = create_app(light_cluster)
    app.extensions["event_hub"] = SilentDoorbell()
    return app


def taken(app: Flask) -> int:
    places: StreamSlots = app.extensions["stream_slots"]
    return places.used_by_person.total()


def browser(app: Flask, user: User) -> FlaskClient:
    """Each has a session of its own."""
    cluster = app.extensions["cluster"]
    client = app.test_client()
    token = sessions.begin_session(cluster, user.id, "192.0.2.1", "a test")
    client.set_cookie(f"gc_session_{cluster.settings.port}", token)
    return client


def opened(client: FlaskClient, **how: Any) -> TestResponse:
    return client.open("/stream?topics=jobs", **how)


def test_a_hundred_streams_of_one_person_leave_the_others_theirs(app: Flask, light_cluster: Cluster) -> None:
    greedy, other = a_user(light_cluster), a_user(light_cluster)
    clients = [browser(app, greedy) for _ in range(20)]
    answers = [opened(client) for client in clients for _ in range(5)]
    statuses = [answer.status_code for answer in answers]
    assert (statuses.count(200), statuses.count(429)) == (
        MAX_STREAMS_PER_PERSON,
        100 - MAX_STREAMS_PER_PERSON,
    )
    refused = next(answer for answer in answers if answer.status_code == 429)
    assert refused.headers["Retry-After"] == "30"
    assert refused.text.startswith(f"You have {MAX_STREAMS_PER_PERSON} live pages open")
    heard = opened(browser(app, other))
    assert heard.status_code == 200
    for answer in [*answers, heard]:
        answer.close()
    assert taken(app) == 0


def test_a_head_takes_no_place(app: Flask, light_cluster: Cluster) -> None:
    client = browser(app, a_user(light_cluster))
    statuses = {opened(client, method="HEAD").status_code for _ in range(MAX_STREAMS + 10)}
    assert statuses == {200}
    assert taken(app) == 0
    answer = opened(client)
    assert answer.status_code == 200
    answer.close()


def test_a_stream_that_nobody_reads_gives_its_place_back(app: Flask, light_cluster: Cluster) -> None:
    """The client was gone before its answer began."""
    user = a_user(light_cluster)
    for _ in range(3 * MAX_STREAMS_PER_PERSON):
        answer = opened(browser(app, user))
        assert answer.status_code == 200
        answer.close()
    assert taken(app) == 0


def test_a_stream_whose_answer_breaks_gives_its_place_back(app: Flask, light_cluster: Cluster) -> None:
    @app.after_request
    def break_streams(response: Any) -> Any:
        if response.mimetype == "text/event-stream":
            raise RuntimeError("between the view and the server")
        return response

    assert opened(browser(app, a_user(light_cluster))).status_code == 500
    assert taken(app) == 0


def test_refused_requests_take_no_place(app: Flask, light_cluster: Cluster) -> None:
    client = browser(app, a_user(light_cluster))
    assert client.get("/stream?topics=secrets").status_code == 422
    assert client.get("/stream?topics=job:99").status_code == 404
    assert taken(app) == 0


def test_all_places_together_are_fewer_than_threads(app: Flask, light_cluster: Cluster) -> None:
    places: StreamSlots = app.extensions["stream_slots"]
    places.used_by_person.update(
        {-person: MAX_STREAMS_PER_PERSON for person in range(1, 1 + MAX_STREAMS // MAX_STREAMS_PER_PERSON)}
    )
    places.used_by_person[-999] = MAX_STREAMS % MAX_STREAMS_PER_PERSON
    answer = opened(browser(app, a_user(light_cluster)))
    assert (answer.status_code, answer.headers["Retry-After"]) == (503, "30")
    assert "All places for live pages are taken" in answer.text


def test_a_place_is_given_back_whatever_ends_the_stream() -> None:
    places = StreamSlots()
    with suppress(RuntimeError), places.hold_slot(1):
        raise RuntimeError
    with ExitStack() as held:
        for _ in range(MAX_STREAMS_PER_PERSON):
            held.enter_context(places.hold_slot(1))
        with pytest.raises(TooManyStreams, match=r"stream\.too_many"), places.hold_slot(1):
            pass
        assert places.used_by_person == {1: MAX_STREAMS_PER_PERSON}
    assert places.used_by_person == {}
