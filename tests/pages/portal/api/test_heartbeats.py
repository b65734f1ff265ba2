"""An agent reports its own node, and nobody else can."""

import io
from argparse import Namespace
from dataclasses import replace

import pytest
from sqlalchemy import select

from cluster.domain.executors import ExecutorKind
from cluster.services.nodes.node_tokens import create_node_token, is_node_token_valid, revoke_node_token
from cluster.store.nodes import Node
from tests.pages.portal.filled_portal import House
from worker.commands import admin

BEAT = {
    "boot_id": "boot-1",
    "facts": {"cpus": 8},
    "units": [{"identity": "GPU-a", "kind": "gpu", "position": 0, "model": "H200"}],
}


def post(house: House, token: str, body: object) -> int:
    headers = {"Authorization": f"Bearer {token}"}
    return house.app.test_client().post("/api/v1/heartbeats", json=body, headers=headers).status_code


def read_node(house: House, name: str) -> Node | None:
    with house.cluster.store.read() as session:
        return session.scalar(select(Node).where(Node.name == name))


def test_a_node_reports_itself_under_the_name_of_its_token(house: House) -> None:
    token = create_node_token(house.cluster, "w1", has_executor=False)
    assert post(house, token, BEAT) == 204
    node = read_node(house, "w1")
    assert node is not None and node.facts == {"cpus": 8} and not node.has_executor


@pytest.mark.parametrize(
    ("executor", "is_master", "expected"),
    [("process", True, True), ("process", False, False), ("kubernetes", False, True)],
)
def test_jobs_run_on_the_master_alone_or_on_kubernetes_on_every_node(
    house: House, monkeypatch: pytest.MonkeyPatch, executor: str, is_master: bool, expected: bool
) -> None:
    """The installer and the repair that connects a node again ask the same."""
    settings = replace(house.cluster.settings, executor=ExecutorKind(executor))
    asked = Namespace(name="w3", executor=is_master)
    monkeypatch.setattr("sys.stdin", io.StringIO())
    token = admin.ensure_node_token(settings, asked)["token"]
    assert is_node_token_valid(house.cluster, token, "w3", has_executor=expected)
    monkeypatch.setattr("sys.stdin", io.StringIO(token))
    assert admin.ensure_node_token(settings, asked) == {"changed": False, "token": None}


def test_an_earlier_token_and_a_persons_token_let_no_node_in(house: House) -> None:
    earlier = create_node_token(house.cluster, "w2", has_executor=False)
    create_node_token(house.cluster, "w2", has_executor=False)
    for token in (earlier, house.tokens["administrator"], "gcn_1_x", ""):
        assert post(house, token, BEAT) == 401
    assert read_node(house, "w2") is None


@pytest.mark.parametrize(
    "change",
    [
        {"name": "w9"},
        {"has_executor": True},
        {"boot_id": ""},
        {"facts": {"long": "x" * 70_000}},
        {"units": [{"identity": "GPU-a", "kind": "gpu", "position": 0, "state": "gone"}]},
        {"units": [{"identity": "GPU-a", "kind": "tpu", "position": 0}]},
        {"units": [{"identity": "GPU-a", "kind": "gpu", "position": 0}] * 2},
        {"units": [{"identity": "GPU\0", "kind": "gpu", "position": 0}]},
        {"boot_id": "half of a character \ud800"},
        {"facts": {"driver": "580\0"}},
        {"facts": {"driver": "\ud800"}},
        {"facts": {"load": float("nan")}},
        {"facts": {"fabric": {"name": "ib0"}}},
        {"facts": {"fabric": "x" * 65}},
    ],
)
def test_a_report_of_another_shape_is_refused(house: House, change: dict[str, object]) -> None:
    token = create_node_token(house.cluster, "w3", has_executor=False)
    assert post(house, token, BEAT | change) == 422
    assert read_node(house, "w3") is None


def test_a_token_is_known_by_its_node_and_its_right(house: House) -> None:
    token = create_node_token(house.cluster, "w4", has_executor=True)
    assert is_node_token_valid(house.cluster, token, "w4", True)
    assert not is_node_token_valid(house.cluster, token, "w4", False)
    assert not is_node_token_valid(house.cluster, token, "w5", True)


def test_a_node_that_was_removed_is_not_let_in(house: House) -> None:
    token = create_node_token(house.cluster, "w6", has_executor=False)
    assert revoke_node_token(house.cluster, "w6")
    assert not revoke_node_token(house.cluster, "w6")
    assert post(house, token, BEAT) == 401
