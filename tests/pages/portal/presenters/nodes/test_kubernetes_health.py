"""Pages of nodes and REST show the health of Kubernetes that the scheduler recorded last."""

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from cluster.domain.kubernetes.disagreements import Disagreement
from cluster.domain.kubernetes.status import KubernetesNodeStatus, KubernetesStatus, SystemWorkloadStatus
from cluster.domain.kubernetes.suggested_repairs import REPAIRS_BY_CODE
from cluster.services.kubernetes.status import record_corrections, record_kubernetes_status
from cluster.services.leases import acquire_lease
from cluster.store.nodes import Node
from tests.pages.portal.filled_portal import House

ROOT = Path(__file__).resolve().parents[5]


def stand(house: House, **more: object) -> KubernetesStatus:
    """The house's first node is ready in Kubernetes, and Kueue is not whole."""
    cluster = house.cluster
    with cluster.store.read() as session:
        name = session.get_one(Node, 1).name
    standing = KubernetesStatus(
        cluster.clock(),
        (KubernetesNodeStatus(name.lower(), True, True, "v1.34.4", "containerd://1.7.24", 8),),
        (SystemWorkloadStatus("kueue-system/kueue", 0, 1), SystemWorkloadStatus("mpi-operator/mpi", 1, 1)),
    )
    standing = replace(standing, **more)  # type: ignore[arg-type]
    held = acquire_lease(cluster, "scheduler", "one", timedelta(days=1))
    assert held
    record_kubernetes_status(cluster, held, standing)
    return standing


def test_without_kubernetes_no_page_speaks_of_it(house: House) -> None:
    for path in ("/nodes", "/nodes/1"):
        assert "Kubernetes" not in house.visitor("administrator").get(path).text


@pytest.mark.parametrize(("language", "told"), [("en", "Container engine"), ("ko", "컨테이너 엔진")])
def test_a_nodes_page_says_how_kubernetes_sees_it(house: House, language: str, told: str) -> None:
    stand(house)
    page = house.visitor("member").get("/nodes/1", headers={"Accept-Language": language}).text
    assert told in page and "containerd 1.7.24" in page and "v1.34.4" in page


def test_a_silent_kubelet_is_said_on_the_row_and_the_page(house: House) -> None:
    standing = stand(house)
    node = standing.nodes[0]
    problem = {"code": "kubernetes.node_silent", "data": {"node": node.name}}
    stand(house, nodes=(replace(node, is_ready=False, problem=problem),))
    for path in ("/nodes", "/nodes/1"):
        page = house.visitor("member").get(path).text
        assert "not in Kubernetes" in page and f"The kubelet of {node.name} does not report" in page


def test_a_node_that_was_closed_in_kubernetes_is_said(house: House) -> None:
    node = stand(house).nodes[0]
    stand(house, nodes=(replace(node, is_open=False, pressures=("disk",)),))
    page = house.visitor("member").get("/nodes/1").text
    assert f"{node.name} is closed in Kubernetes: nothing new starts there" in page and "disk space" in page


def test_of_a_node_whose_kubelet_is_silent_nothing_is_called_well(house: House) -> None:
    node = stand(house).nodes[0]
    problem = {"code": "kubernetes.node_silent", "data": {"node": node.name}}
    stand(house, nodes=(replace(node, is_ready=False, problem=problem),))
    page = house.visitor("member").get("/nodes/1").text
    assert "Takes pods" not in page and "Runs short of" not in page and "GPUs offered" not in page


def test_what_was_put_right_is_told_in_the_access_log(house: House) -> None:
    stand(house)
    held = acquire_lease(house.cluster, "scheduler", "one", timedelta(days=1))
    assert held
    changes = [
        {"path": "spec hard pods", "found": "400", "wanted": None},
        {"path": "spec egress", "found": None, "wanted": [{"to": "x" * 200}]},
    ]
    data = {"object": "ResourceQuota gc-workspace-1/term", "differences": changes, "by": ["kubectl-edit"]}
    record_corrections(house.cluster, held, [(1, "workspace.put_right", data)])
    page = house.visitor("administrator").get("/access-log").text
    assert "ResourceQuota gc-workspace-1/term · spec hard pods: 400 → –" in page
    assert "x" * 60 in page and "x" * 90 not in page
    assert "written by kubectl-edit" in page


def test_what_we_have_no_words_for_is_shown_to_administrators_as_it_was_said(house: House) -> None:
    node = stand(house).nodes[0]
    data = {"speaker": "kubelet", "word": "MoonInTheWay", "said": "wait for the moon"}
    problem = {"code": "kubernetes.no_words", "data": data}
    why = Disagreement("disagreement.refused", "job-7", data={"job": "job-7", "job_id": 7, "why": problem})
    stand(house, nodes=(replace(node, is_ready=False, problem=problem),), disagreements=(why,))
    for path in ("/nodes", "/nodes/1"):
        assert "wait for the moon" in house.visitor("administrator").get(path).text
        seen = house.visitor("member").get(path).text
        assert "MoonInTheWay" in seen and "wait for the moon" not in seen


def test_silence_says_from_when_the_rest_is(house: House) -> None:
    stand(house, silent_since=house.cluster.clock())
    page = house.visitor("administrator").get("/nodes").text
    assert "Kubernetes does not answer" in page and "What stands here was seen" in page


@pytest.mark.parametrize(
    ("days", "told"), [(200, "ends first, in 200 days"), (3, "ends first, in 3 days"), (-4, "has ended")]
)
def test_certificates_are_counted_down(house: House, days: int, told: str) -> None:
    end = house.cluster.clock() + timedelta(days=days, hours=1)
    with house.cluster.store.write() as session:
        node = session.get_one(Node, 1)
        node.facts = {**node.facts, "kubernetes_certificates": {"apiserver": end.isoformat()}}
    assert f"apiserver {told}" in house.visitor("member").get("/nodes/1").text


def test_rest_says_the_same(house: House) -> None:
    stand(house, disagreements=(Disagreement("disagreement.namespace_goes", "n", data={"namespace": "n"}),))
    found = house.visitor("administrator").get("/api/v1/nodes/kubernetes").json
    assert [part["state"] for part in found["parts"]] == ["broken", "ready"]
    assert found["disagreements"] == [
        "Somebody is deleting n with everything in it. It is made anew once it is gone."
    ]
    node = house.visitor("member").get("/api/v1/nodes/1").json
    assert {line["what"]: line["state"] for line in node["kubernetes"]}["Kubelet"] == "ready"
    assert house.visitor("member").get("/api/v1/nodes/kubernetes").status_code == 403


def test_every_remedy_is_a_repair_of_the_catalogue() -> None:
    stems = {path.stem for path in (ROOT / "ansible" / "repairs").glob("*.yml")}
    assert {name for names in REPAIRS_BY_CODE.values() for name in names} <= stems
