"""What a request knows of its client and its person."""

import pytest
from flask import Flask, g

from cluster.domain.people.actor import Actor
from cluster.services.context import Cluster
from portal.web import request_context

ACTOR = Actor(user_id=7, name="minji", is_administrator=False, address="192.0.2.1", request_id="r")


def test_a_list_is_read_once_per_request(in_request: Flask) -> None:
    reads: list[str] = []

    def read(cluster: Cluster, actor: Actor) -> int:
        reads.append(actor.name)
        return len(reads)

    g.actor = ACTOR
    assert [request_context.read_once(read), request_context.read_once(read)] == [1, 1]
    assert reads == ["minji"]


@pytest.mark.parametrize(
    ("headers", "is_fragment"),
    [
        ({}, False),
        ({"HX-Request": "true"}, True),
        ({"HX-Request": "true", "HX-History-Restore-Request": "true"}, False),
    ],
)
def test_htmx_gets_a_fragment_but_for_the_history(
    bare_app: Flask, headers: dict[str, str], is_fragment: bool
) -> None:
    with bare_app.test_request_context("/", headers=headers):
        assert request_context.is_fragment_request() is is_fragment


def test_the_client_is_named_for_the_audit(bare_app: Flask) -> None:
    environment = {"REMOTE_ADDR": "192.0.2.9"}
    with bare_app.test_request_context(
        "/api/v1/jobs", headers={"User-Agent": "x" * 300}, environ_base=environment
    ):
        g.request_id = "abc"
        actor = request_context.anonymous_actor("minji")
        assert (actor.user_id, actor.name, actor.address, actor.request_id) == (
            0,
            "minji",
            "192.0.2.9",
            "abc",
        )
        assert len(request_context.client_user_agent()) == 200
        assert request_context.is_api_request()
