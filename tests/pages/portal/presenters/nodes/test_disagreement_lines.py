"""Disagreements of Kubernetes with the queue are lines for administrators, each with its way out."""

from cluster.domain.kubernetes.disagreements import Disagreement
from tests.pages.portal.filled_portal import House
from tests.pages.portal.presenters.nodes.test_kubernetes_health import stand

STRANGER = {"pod": "default/trainer", "units": 2, "kind": "gpu"}


def test_operators_and_disagreements_are_shown_to_administrators_alone(house: House) -> None:
    node = stand(house).nodes[0].name
    stranger = Disagreement("disagreement.stranger", "default/trainer", node, STRANGER | {"node": node})
    stand(house, disagreements=(stranger,), seen=4)
    page = house.visitor("administrator").get("/nodes").text
    assert "1 of 2 parts whole" in page and "kueue-system/kueue" in page and "0 of 1 pod ready" in page
    assert "default/trainer" in page and "4 since the beginning" in page
    assert "default/trainer" in house.visitor("administrator").get("/nodes/1").text
    for path in ("/nodes", "/nodes/1", "/"):
        assert "default/trainer" not in house.visitor("member").get(path).text


def test_each_disagreement_leads_to_what_it_is_about(house: House) -> None:
    node = stand(house).nodes[0].name
    job, stranger = house.ids["job_id"], STRANGER | {"node": node}
    why = {"code": "kubernetes.gated", "data": {}}
    data = {"job": f"job-{job}", "job_id": job, "attempt": 1, "why": why}
    refused = Disagreement("disagreement.refused", f"job-{job}", node, data)
    stand(house, disagreements=(refused, Disagreement("disagreement.stranger", "x", node, stranger)))
    page = house.visitor("administrator").get("/nodes").text
    panel = page[page.index("Otherwise than our queue decided") :]
    assert f'href="/jobs/{job}"' in panel and 'href="/nodes/1"' in panel
    assert "Ask whose it is" in panel
