"""Nodes over REST."""

from cluster.services.nodes import drains
from tests.builders import actor_of, an_administrator
from tests.pages.portal.filled_portal import House


def test_rest_drains_and_opens_a_node(house: House) -> None:
    chief = actor_of(an_administrator(house.cluster))
    drains.drain_node(house.cluster, chief, 1, "new memory")
    found = house.visitor("member").get("/api/v1/nodes/1").json
    assert (found["state"], found["drain_reason"]) == ("draining", "new memory")
    assert found["running"] is not None and found["too_large_elsewhere"] is not None
