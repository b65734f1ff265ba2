"""A repair works on chosen nodes; the node that is the master has the master's key."""

from dataclasses import replace

import pytest
from sqlalchemy import update

from cluster.domain.errors import NotFound
from cluster.services.context import Cluster
from cluster.services.repairs.repair_targets import (
    RepairTarget,
    choose_targets,
    list_node_targets,
    list_undrained_hosts,
    master_target,
)
from cluster.store.nodes import Node
from tests.builders import a_node


def change(cluster: Cluster, node: Node, **values: object) -> None:
    with cluster.store.write() as session:
        session.execute(update(Node).where(Node.id == node.id).values(**values))


def test_the_node_that_is_the_master_has_its_key_and_simulated_nodes_are_left_out(cluster: Cluster) -> None:
    master, other = a_node(cluster, name="gpu01"), a_node(cluster, name="gpu02")
    change(cluster, a_node(cluster, name="gpu03"), simulated=True)
    servers = replace(cluster, settings=replace(cluster.settings, master_node="gpu01"))
    with cluster.store.read() as session:
        targets = list_node_targets(servers, session)
        assert master_target(servers, session) == targets[0]
    assert targets == [
        RepairTarget("master", "gpu01", master.id),
        RepairTarget(f"node-{other.id}", "gpu02", other.id),
    ]


def test_a_node_is_chosen_once_and_an_unknown_one_is_refused(cluster: Cluster) -> None:
    choices = [RepairTarget(f"node-{number}", f"gpu0{number}", number) for number in (1, 2)]
    assert choose_targets(choices, [2, 2]) == [choices[1]]
    assert choose_targets(choices, []) == []
    assert choose_targets(choices[:1], []) == choices[:1], "there is nothing else to choose"
    with pytest.raises(NotFound):
        choose_targets(choices, [3])


def test_a_host_is_drained_before_its_gpus_are_reset(cluster: Cluster) -> None:
    drained = a_node(cluster, name="gpu01")
    change(cluster, drained, draining_since=cluster.clock())
    working = a_node(cluster, name="gpu02")
    targets = [RepairTarget(f"node-{node.id}", node.name, node.id) for node in (drained, working)]
    with cluster.store.read() as session:
        assert list_undrained_hosts(session, targets) == ["gpu02"]
