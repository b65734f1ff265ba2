"""The command lists, drains and opens nodes."""

import pytest

from cluster.domain.states import UnitKind
from cluster.store.nodes import Node
from tests.builders import a_node, an_administrator
from tests.pages.portal.command_lab import Run, submit
from tests.pages.portal.rest_lab import Lab


def test_nodes_and_workspaces_are_listed(run: Run) -> None:
    assert "gpu01" in run("node", "list").stdout
    assert "vision" in run("workspace", "list").stdout


def test_top_shows_what_every_gpu_does(lab: Lab, run: Run) -> None:
    node = a_node(lab.cluster, 1, name="gpu02", kind=UnitKind.GPU)
    load = {
        node.units[0].identity: {"percent": 87, "memory_used_bytes": 2**30, "temperature": 64, "power": 310}
    }
    with lab.cluster.store.write() as session:
        session.get_one(Node, node.id).facts = {"gpu_load": load}
    assert run("top", "-o", "name").stdout.split() == ["gpu01/1", "gpu01/2", "gpu02/1"]
    line = next(line for line in run("top", "-o", "table").stdout.splitlines() if line.startswith("gpu02"))
    assert all(value in line for value in ("87 %", "1.0 GiB", "64 °C", "310 W"))


def test_a_node_is_drained_and_opened_again(lab: Lab, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    run("node", "drain", "gpu01", "--reason", "memory", "--yes", expected=3)  # A member may not.
    for words in (["drain", "gpu01", "--reason", "memory"], ["forget", "gpu01"]):
        refused = run("node", *words, expected=3)  # Nobody is asked before.
        assert "?" not in refused.output and "Only administrators" in refused.output
    token = lab.headers(an_administrator(lab.cluster))["Authorization"].removeprefix("Bearer ")
    monkeypatch.setenv("GROUNDCREW_TOKEN", token)
    job_id = submit(run)
    run("node", "drain", "gpu01", "--reason", "memory", expected=1)  # Nobody answers the question.
    drained = run("node", "drain", "gpu01", "--reason", "memory", "--yes")
    assert "gpu01 is being drained." in drained.output
    assert f"They fit on no other node and go on waiting: job-{job_id}." in drained.output
    for words in (["nodes"], ["hosts"], ["node", "list"], ["node", "show", "gpu01"]):
        assert "memory" in run(*words).stdout
    assert "takes jobs again" in run("node", "undrain", "gpu01").output
    run("node", "undrain", "gpu01", expected=5)
    run("node", "show", "gpu99", expected=4)


def test_a_drained_node_is_forgotten(lab: Lab, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    token = lab.headers(an_administrator(lab.cluster))["Authorization"].removeprefix("Bearer ")
    monkeypatch.setenv("GROUNDCREW_TOKEN", token)
    run("node", "forget", "gpu01", "--yes", expected=5)
    run("node", "drain", "gpu01", "--reason", "sold", "--yes")
    run("node", "forget", "gpu01", expected=1)  # Nobody answers the question.
    assert "gpu01 is forgotten." in run("node", "forget", "gpu01", "--yes").output
    run("node", "show", "gpu01", expected=4)


def test_an_administrator_limits_the_storage_of_a_workspace(
    lab: Lab, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    run("workspace", "limit-storage", "vision", "2GiB", expected=3)  # A member may not.
    token = lab.headers(an_administrator(lab.cluster))["Authorization"].removeprefix("Bearer ")
    monkeypatch.setenv("GROUNDCREW_TOKEN", token)
    assert "is saved" in run("workspace", "limit-storage", "vision", "2GiB").output
    assert "– / 2.0 GiB" in run("workspace", "list").stdout
    run("workspace", "limit-storage", "vision", "none")
    assert "– / –" in run("workspace", "list").stdout
