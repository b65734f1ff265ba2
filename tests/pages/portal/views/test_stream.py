"""A request for a stream that sends nothing takes no slot."""

from typing import Any

from flask import Flask

from cluster.services.context import Cluster
from portal.live.stream_slots import MAX_STREAMS
from tests.builders import a_user
from tests.pages.portal.stream_lab import browser, opened, taken


def test_a_head_takes_no_place(app: Flask, light_cluster: Cluster) -> None:
    client = browser(app, a_user(light_cluster))
    statuses = {opened(client, method="HEAD").status_code for _ in range(MAX_STREAMS + 10)}
    assert statuses == {200}
    assert taken(app) == 0
    answer = opened(client)
    assert answer.status_code == 200
    answer.close()


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
