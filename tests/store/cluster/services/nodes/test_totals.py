"""Nodes and units are counted by SQL as the rows say, as far as the reader may see who holds a unit."""

from collections import Counter
from datetime import timedelta

import pytest

from cluster.domain.kubernetes.status import KubernetesNodeStatus, KubernetesStatus
from cluster.domain.states import JobState, NodeState, UnitState
from cluster.services.context import Cluster
from cluster.services.kubernetes.status import record_kubernetes_status
from cluster.services.leases import acquire_lease
from cluster.services.nodes.queries import list_nodes
from cluster.services.nodes.totals import (
    NodeFilter,
    NodeTotal,
    NodeUse,
    list_node_uses,
    read_cluster_totals,
    read_node_totals,
    total_views,
)
from cluster.store.nodes import Node
from cluster.store.users import User
from tests.builders import a_job, a_node, a_training, a_user, a_workspace, actor_of, holding
from tests.conftest import Clock


@pytest.fixture
def manager(cluster: Cluster) -> User:
    return a_user(cluster)


@pytest.fixture
def nodes(cluster: Cluster, clock: Clock, manager: User) -> list[Node]:
    """gpu01 is ready: one unit held, one free, one broken and free, one gone and held. gpu02 is silent, all held.
    gpu03 is drained, gpu04 is ready and free, GPU05 too."""
    nodes = [a_node(cluster, 4, "gpu01"), *(a_node(cluster, 2, f"gpu0{number}") for number in (2, 3, 4))]
    nodes.append(a_node(cluster, 1, "GPU05"))
    job = a_job(cluster, a_training(cluster, a_workspace(cluster, manager)), state=JobState.RUNNING)
    holding(cluster, job, [nodes[0].units[0], nodes[0].units[3], *nodes[1].units])
    with cluster.store.write() as session:
        first, second, third = (session.get_one(Node, node.id) for node in nodes[:3])
        first.units[2].state, first.units[3].state = UnitState.BROKEN, UnitState.GONE
        second.heartbeat_at = clock() - timedelta(minutes=1)
        third.draining_since = clock()
        third.units[1].state = UnitState.GONE
    return nodes


def keep_out(cluster: Cluster, names: tuple[str, ...]) -> None:
    """Kubernetes knows all others, in its own writing."""
    held = acquire_lease(cluster, "scheduler", "me", timedelta(days=30))
    known = {"gpu01", "gpu02", "gpu03", "gpu04", "gpu05"} - set(names)
    seen = tuple(KubernetesNodeStatus(name, True, True) for name in sorted(known))
    assert held and record_kubernetes_status(cluster, held, KubernetesStatus(cluster.clock(), seen))


def test_nodes_are_counted_by_state(cluster: Cluster, nodes: list[Node]) -> None:
    keep_out(cluster, ("gpu04", "gpu03"))
    assert set(read_node_totals(cluster, NodeFilter())) == {
        NodeTotal(NodeState.READY, False, 2),
        NodeTotal(NodeState.READY, True, 1),
        NodeTotal(NodeState.UNREACHABLE, False, 1),
        NodeTotal(NodeState.DRAINING, False, 1),
    }


@pytest.mark.parametrize(
    ("node_filter", "found"),
    [
        (NodeFilter("gpu0"), 5),
        (NodeFilter("Gpu05"), 1),
        (NodeFilter("%"), 0),
        (NodeFilter(state=NodeState.READY), 3),
        (NodeFilter("2", NodeState.READY), 0),
    ],
)
def test_a_filter_narrows_what_is_counted(
    cluster: Cluster, nodes: list[Node], node_filter: NodeFilter, found: int
) -> None:
    assert sum(total.nodes for total in read_node_totals(cluster, node_filter)) == found
    assert len(list_node_uses(cluster, node_filter, 10)) == found


def test_units_are_counted_with_their_holders(cluster: Cluster, nodes: list[Node], manager: User) -> None:
    totals = read_cluster_totals(cluster, actor_of(manager))
    assert totals.node_count == 5
    counted = Counter({(total.node_state, total.unit_state): total.units for total in totals.units})
    ok, broken, gone = UnitState.OK, UnitState.BROKEN, UnitState.GONE
    ready, silent, drained = NodeState.READY, NodeState.UNREACHABLE, NodeState.DRAINING
    assert counted == {
        (ready, ok): 5, (ready, broken): 1, (ready, gone): 1, (silent, ok): 2, (drained, ok): 1,
    }  # fmt: skip
    held = {(total.node_state, total.unit_state): total.held for total in totals.units if total.held}
    assert held == {(ready, ok): 1, (ready, gone): 1, (silent, ok): 2}
    assert {total.workspace is None for total in totals.held} == {False}
    assert sum(total.units for total in totals.held) == 4
    drawn = total_views(list_nodes(cluster, actor_of(manager)))
    assert [set(drawn.nodes), set(drawn.units), set(drawn.held)] == [
        set(totals.nodes), set(totals.units), set(totals.held),
    ]  # fmt: skip
    hidden = read_cluster_totals(cluster, actor_of(a_user(cluster))).held
    assert {total.workspace for total in hidden} == {None} and sum(total.units for total in hidden) == 4


def test_the_use_of_each_node_is_listed_by_name(cluster: Cluster, nodes: list[Node]) -> None:
    keep_out(cluster, ("gpu04",))
    uses = list_node_uses(cluster, NodeFilter(), 4)
    assert [use.name for use in uses] == sorted(node.name for node in nodes)[:4]
    by_name = {use.name: use for use in list_node_uses(cluster, NodeFilter(), 10)}
    assert by_name["gpu01"] == NodeUse(nodes[0].id, "gpu01", NodeState.READY, False, 4, 2, 1, 2)
    assert by_name["gpu03"][3:] == (False, 1, 0, 1, 0)
    assert by_name["gpu04"][3:] == (True, 2, 0, 2, 0)
