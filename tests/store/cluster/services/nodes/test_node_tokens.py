"""A node has one valid token, known by its text alone."""

import pytest

from cluster.services.context import Cluster
from cluster.services.nodes.node_tokens import (
    create_node_token,
    is_node_token_valid,
    read_node_token,
    revoke_node_token,
)
from tests.audit_entries import actions


def test_a_token_stands_for_its_node_with_exactly_its_right(cluster: Cluster) -> None:
    text = create_node_token(cluster, "w1", has_executor=True)
    token = read_node_token(cluster, text)
    assert token is not None and (token.name, token.has_executor) == ("w1", True)
    assert text.startswith(f"gcn_{token.id}_")
    assert text.split("_", 2)[2] not in token.secret_hash
    assert is_node_token_valid(cluster, text, "w1", has_executor=True)
    assert not is_node_token_valid(cluster, text, "w1", has_executor=False)
    assert not is_node_token_valid(cluster, text, "w2", has_executor=True)


@pytest.mark.parametrize(
    "change",
    [
        lambda text: "",
        lambda text: text[:-1],
        lambda text: text + "x",
        lambda text: text.replace("gcn_", "gc_", 1),
        lambda text: text[:-1] + ("x" if text[-1] != "x" else "y"),
        lambda text: text.replace("gcn_1_", "gcn_2_", 1),
        lambda text: text.replace("gcn_1_", "gcn_1000000000_", 1),
    ],
)
def test_any_other_text_is_no_token(cluster: Cluster, change: object) -> None:
    assert callable(change)
    text = create_node_token(cluster, "w1", has_executor=True)
    assert text.startswith("gcn_1_")
    assert read_node_token(cluster, change(text)) is None


def test_a_new_token_replaces_the_earlier_one_of_the_same_node(cluster: Cluster) -> None:
    other = create_node_token(cluster, "w2", has_executor=False)
    earlier, newest = (create_node_token(cluster, "w1", has_executor=False) for _ in range(2))
    assert read_node_token(cluster, earlier) is None
    assert read_node_token(cluster, newest) is not None and read_node_token(cluster, other) is not None


def test_a_revoked_token_is_worth_nothing_and_there_is_none_to_revoke_then(cluster: Cluster) -> None:
    text = create_node_token(cluster, "w1", has_executor=False)
    assert revoke_node_token(cluster, "w1")
    assert read_node_token(cluster, text) is None
    assert not revoke_node_token(cluster, "w1")
    assert actions(cluster) == ["node.token_created", "node.token_revoked"]
