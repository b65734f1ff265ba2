"""Who is let in to a notebook, as its workspace's network policy says it."""

from typing import Any

import pytest

from cluster.domain.jobs import notebooks
from cluster.domain.kubernetes.workspace_namespace import WorkspaceNamespace
from tests.unit.worker.kubernetes.manifests.test_workloads import RUNS
from worker.kubernetes.manifests.workloads import run_objects as objects_of_run
from worker.kubernetes.namespaces.portal_addresses import CONTROL_PLANE, portal_address_blocks
from worker.kubernetes.namespaces.workspace_objects import workspace_objects

SPEECH = WorkspaceNamespace(7, "speech", 4, True)


def node(name: str, address: str, *pods: str, is_master: bool = False) -> dict[str, Any]:
    addresses = [{"type": "Hostname", "address": name}, {"type": "InternalIP", "address": address}]
    return {
        "metadata": {"name": name, "labels": {CONTROL_PLANE: ""} if is_master else {}},
        "spec": {"podCIDR": pods[0], "podCIDRs": list(pods)} if pods else {},
        "status": {"addresses": addresses},
    }


@pytest.mark.parametrize(
    ("nodes", "blocks"),
    [
        ([], []),
        ([node("w1", "10.0.0.11", "10.244.1.0/24")], []),
        (
            [
                node("m", "10.0.0.10", "10.244.0.0/24", is_master=True),
                node("w1", "10.0.0.11", "10.244.1.0/24"),
            ],
            ["10.0.0.10/32", "10.244.0.0/32"],
        ),
        ([node("m", "10.0.0.10", is_master=True)], ["10.0.0.10/32"]),
        (
            [node("m", "fd00::10", "fd01::/64", "10.244.0.0/24", is_master=True)],
            ["10.244.0.0/32", "fd00::10/128", "fd01::/128"],
        ),
        ([{"metadata": {"labels": {CONTROL_PLANE: ""}}}], []),
    ],
    ids=["nothing", "workers", "master", "without pods", "both families", "just joined"],
)
def test_the_portal_speaks_from_the_masters_own_address_and_from_flannels(
    nodes: list[dict[str, Any]], blocks: list[str]
) -> None:
    assert portal_address_blocks(nodes) == blocks


def door(*masters: str) -> dict[str, Any]:
    things = workspace_objects(SPEECH, "here", masters)
    return dict(next(each["spec"] for each in things if each["metadata"]["name"] == "door"))


def test_masters_are_let_in_at_the_port_of_notebooks_alone() -> None:
    (rule,) = door("10.0.0.10/32", "10.244.0.0/32")["ingress"]
    assert rule["ports"] == [{"protocol": "TCP", "port": notebooks.PORT}]
    assert [each["ipBlock"]["cidr"] for each in rule["from"]] == ["10.0.0.10/32", "10.244.0.0/32"]


def test_where_no_master_is_known_nobody_is_let_in() -> None:
    """An empty list of addresses would mean everybody."""
    assert "ingress" not in door() and door()["policyTypes"] == ["Ingress"]


@pytest.mark.parametrize(("name", "has_one"), [("notebook", True), ("one_pod", False), ("indexed", False)])
def test_only_a_notebook_has_a_door(name: str, has_one: bool) -> None:
    made = objects_of_run(RUNS[name])[-1]
    labels = (made["spec"].get("template") or made)["metadata"]["labels"]
    assert (door()["podSelector"]["matchLabels"].items() <= labels.items()) is has_one
