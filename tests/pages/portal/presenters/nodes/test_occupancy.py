"""The dashboard draws each unit of a few nodes and counts the nodes of a large cluster."""

import pytest
from flask import g

from portal.presenters.nodes import occupancy
from tests.builders import a_node, actor_of
from tests.pages.portal.pages_lab import Lab


def read(lab: Lab) -> occupancy.Occupancy:
    with lab.app.test_request_context("/"):
        g.actor = actor_of(lab.administrator)
        return occupancy.read_occupancy()


def test_a_small_cluster_is_drawn_node_by_node(lab: Lab) -> None:
    shown = read(lab)
    assert [node.name for node, _bars in shown.nodes] == [lab.node.name]
    assert shown.totals == [] and shown.node_count == shown.ready == 1
    assert shown.shares.total() == sum(bar.units for _node, bars in shown.nodes for bar in bars)


def test_a_large_cluster_is_counted_by_state(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    a_node(lab.cluster)
    monkeypatch.setattr(occupancy, "MOST_NODES_DRAWN", 1)
    shown = read(lab)
    assert shown.nodes == [] and sum(total.nodes for total in shown.totals) == shown.node_count == 2
