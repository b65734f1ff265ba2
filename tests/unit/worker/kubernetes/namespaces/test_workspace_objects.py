"""The network policies of a workspace let the portal's addresses in to notebooks."""

from typing import Any

import pytest

from cluster.domain.kubernetes.workspace_namespace import WorkspaceNamespace
from cluster.domain.notebooks import jupyter_server
from tests.unit.worker.kubernetes.manifests.test_workloads import RUNS
from worker.kubernetes.manifests.workloads import run_objects as objects_of_run
from worker.kubernetes.namespaces.workspace_objects import workspace_objects

SPEECH = WorkspaceNamespace(7, "speech", 4, True)


def door(*masters: str) -> dict[str, Any]:
    things = workspace_objects(SPEECH, "here", masters)
    return dict(next(each["spec"] for each in things if each["metadata"]["name"] == "door"))


def test_masters_are_let_in_at_the_port_of_notebooks_alone() -> None:
    (rule,) = door("10.0.0.10/32", "10.244.0.0/32")["ingress"]
    assert rule["ports"] == [{"protocol": "TCP", "port": jupyter_server.PORT}]
    assert [each["ipBlock"]["cidr"] for each in rule["from"]] == ["10.0.0.10/32", "10.244.0.0/32"]


def test_where_no_master_is_known_nobody_is_let_in() -> None:
    """An empty list of addresses would mean everybody."""
    assert "ingress" not in door() and door()["policyTypes"] == ["Ingress"]


@pytest.mark.parametrize(("name", "has_one"), [("notebook", True), ("one_pod", False), ("indexed", False)])
def test_only_a_notebook_has_a_door(name: str, has_one: bool) -> None:
    made = objects_of_run(RUNS[name])[-1]
    labels = (made["spec"].get("template") or made)["metadata"]["labels"]
    assert (door()["podSelector"]["matchLabels"].items() <= labels.items()) is has_one
