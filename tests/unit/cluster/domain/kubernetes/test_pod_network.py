"""Which addresses of other nodes a node's packet filter is told, and in which words."""

import pytest

from cluster.domain.kubernetes.pod_network import (
    NetworkMembers,
    PodAddress,
    member_rules,
    remote_members,
    workspaces_in_rules,
)

HERE, THERE, ELSEWHERE = "w1", "w2", "w3"
T = "inet groundcrew_pods"


@pytest.mark.parametrize(
    ("pods", "members"),
    [
        ([], {}),
        ([PodAddress("10.244.2.5", 7, THERE)], {7: {"10.244.2.5"}}),
        ([PodAddress("10.244.1.5", 7, HERE)], {}),
        (
            [PodAddress("10.244.2.5", 7, THERE), PodAddress("10.244.3.5", 7, ELSEWHERE)],
            {7: {"10.244.2.5", "10.244.3.5"}},
        ),
        (
            [PodAddress("10.244.2.5", 7, THERE), PodAddress("10.244.2.6", 8, THERE)],
            {7: {"10.244.2.5"}, 8: {"10.244.2.6"}},
        ),
        # An address that one pod is about to leave and another one has already.
        ([PodAddress("10.244.2.5", 7, THERE), PodAddress("10.244.2.5", 7, THERE)], {7: {"10.244.2.5"}}),
        ([PodAddress("10.244.2.5", 7, THERE), PodAddress("10.244.2.5", 8, THERE)], {}),
    ],
)
def test_a_node_is_told_of_pods_of_other_nodes_whose_workspace_is_certain(
    pods: list[PodAddress], members: dict[int, set[str]]
) -> None:
    assert remote_members(pods, HERE) == members


def filled(name: str, elements: str) -> list[str]:
    lines = [f"add set {T} {name} {{ type ipv4_addr; }}", f"flush set {T} {name}"]
    return [*lines, f"add element {T} {name} {{ {elements} }}"] if elements else lines


@pytest.mark.parametrize(
    ("members", "earlier", "sets"),
    [
        (NetworkMembers(), [], [("doors", "")]),
        (NetworkMembers(doors=frozenset({"10.0.0.9"})), [], [("doors", "10.0.0.9")]),
        (
            NetworkMembers({8: frozenset({"10.244.2.6"}), 7: frozenset({"10.244.3.5", "10.244.2.5"})}),
            [],
            [("doors", ""), ("remote_7", "10.244.2.5, 10.244.3.5"), ("remote_8", "10.244.2.6")],
        ),
        # A workspace whose last remote pod has gone is emptied, also by a watcher that has begun since.
        (NetworkMembers(), [7], [("doors", ""), ("remote_7", "")]),
        (NetworkMembers({7: frozenset({"10.244.2.5"})}), [7], [("doors", ""), ("remote_7", "10.244.2.5")]),
    ],
)
def test_one_transaction_says_all(
    members: NetworkMembers, earlier: list[int], sets: list[tuple[str, str]]
) -> None:
    text = member_rules(members, earlier)
    assert text.splitlines() == [line for name, elements in sets for line in filled(name, elements)]
    assert workspaces_in_rules(text) == {*members.remote, *earlier}
    assert member_rules(members, workspaces_in_rules(text)) == text
