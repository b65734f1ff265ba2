"""A drained node takes nothing new; a silent one is given up, and comes back once nothing old runs there."""

import pytest
from sqlalchemy import select

from cluster.domain.errors import Conflict, Forbidden, Refused
from cluster.domain.states import NodeState
from cluster.services.context import Cluster
from cluster.services.nodes import drains, heartbeats, queries
from cluster.store.audit import AuditEntry
from cluster.store.nodes import Node
from tests.builders import a_node, a_user, actor_of, an_administrator
from tests.conftest import Clock, RecordingBell


def state_of(cluster: Cluster, node: Node) -> NodeState:
    return queries.read_node(cluster, actor_of(a_user(cluster)), node.id).state


def test_a_drained_node_keeps_its_reason_and_is_opened_again(cluster: Cluster, bell: RecordingBell) -> None:
    node, chief = a_node(cluster, name="gpu03"), actor_of(an_administrator(cluster, "hjkim"))
    drains.drain_node(cluster, chief, node.id, " new  memory ")
    view = queries.read_node(cluster, chief, node.id)
    assert view.state is NodeState.DRAINING
    assert (view.node.drain_reason, view.node.drainer) == ("new memory", "hjkim")
    assert ("queue", 0) in bell.rung and ("nodes", node.id) in bell.rung
    drains.drain_node(cluster, chief, node.id, "another reason")
    drains.undrain_node(cluster, chief, node.id)
    assert state_of(cluster, node) is NodeState.READY
    with cluster.store.read() as session:
        entries = session.scalars(select(AuditEntry).where(AuditEntry.object_kind == "node")).all()
    assert [entry.action for entry in entries] == ["node.drained", "node.drained", "node.undrained"]
    assert entries[0].data == {"name": "gpu03", "reason": "new memory"}
    with pytest.raises(Conflict):
        drains.undrain_node(cluster, chief, node.id)


def test_only_administrators_drain_and_only_with_a_reason(cluster: Cluster) -> None:
    node = a_node(cluster)
    with pytest.raises(Forbidden):
        drains.drain_node(cluster, actor_of(a_user(cluster)), node.id, "why not")
    with pytest.raises(Refused):
        drains.drain_node(cluster, actor_of(an_administrator(cluster)), node.id, " ")
    assert state_of(cluster, node) is NodeState.READY


def test_another_boot_is_remembered(cluster: Cluster, clock: Clock) -> None:
    heartbeats.record_heartbeat(cluster, "gpu07", "first", {}, [])
    with cluster.store.read() as session:
        assert session.scalars(select(Node)).one().booted_at is None
    clock.move(seconds=30)
    heartbeats.record_heartbeat(cluster, "gpu07", "second", {}, [])
    with cluster.store.read() as session:
        assert session.scalars(select(Node)).one().booted_at == clock.now
