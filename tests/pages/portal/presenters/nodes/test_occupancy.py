"""The dashboard draws each unit of a few nodes and counts the nodes of a large cluster."""

from datetime import timedelta

import pytest
from flask import g

from cluster.store.nodes import Node
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


@pytest.mark.parametrize(("language", "said"), [("en", "GPUs work at 97 %"), ("ko", "GPU 사용률 97 %")])
def test_a_bar_has_what_each_of_its_gpus_works_now(lab: Lab, language: str, said: str) -> None:
    lab.a_running_job(units=2)
    load = {lab.node.units[1].identity: {"percent": 97}}
    with lab.cluster.store.write() as session:
        session.get_one(Node, lab.node.id).facts = {"gpu_load": load}
    ((_node, bars),) = read(lab).nodes
    assert [bar.use for bar in bars] == [(None, 0.97)]
    page = lab.browser(lab.minjun, language).get("/").text
    assert said in page and page.count('class="unit-use"') == 1
    with lab.cluster.store.write() as session:
        session.get_one(Node, lab.node.id).heartbeat_at = lab.cluster.clock() - timedelta(minutes=2)
    assert "unit-use" not in lab.browser(lab.minjun, language).get("/").text


def test_a_large_cluster_is_counted_by_state(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    a_node(lab.cluster)
    monkeypatch.setattr(occupancy, "MOST_NODES_DRAWN", 1)
    shown = read(lab)
    assert shown.nodes == [] and sum(total.nodes for total in shown.totals) == shown.node_count == 2
