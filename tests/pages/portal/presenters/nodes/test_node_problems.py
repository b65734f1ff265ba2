"""A node that is not ready says why and what helps."""

from datetime import timedelta

from cluster.store.nodes import Node
from tests.pages.portal.filled_portal import House


def test_a_silent_node_says_when_it_is_given_up_and_a_lost_one_what_then(house: House) -> None:
    cluster = house.cluster
    with cluster.store.write() as session:
        session.get_one(Node, 1).heartbeat_at = cluster.clock() - timedelta(seconds=60)
    page = house.visitor("member").get("/nodes/1").text
    assert "Given up" in page and "in 4 min" in page
    with cluster.store.write() as session:
        session.get_one(Node, 1).lost_at = cluster.clock()
    assert "it takes jobs again by itself" in house.visitor("member").get("/nodes").text
    assert "was given up" in house.visitor("administrator").get("/").text
