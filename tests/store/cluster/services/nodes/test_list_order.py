"""A node that is silent, drained or broken needs a person."""

from datetime import timedelta

from sqlalchemy import select

from cluster.domain.states import UnitState
from cluster.services.context import Cluster
from cluster.services.nodes.list_order import is_troubled
from cluster.store.nodes import Node
from tests.builders import a_node
from tests.conftest import Clock


def test_a_node_that_works_is_no_trouble(cluster: Cluster, clock: Clock) -> None:
    a_node(cluster, name="well")
    silent, broken = a_node(cluster, name="silent"), a_node(cluster, name="broken")
    with cluster.store.write() as session:
        session.get_one(Node, silent.id).heartbeat_at = clock() - timedelta(minutes=1)
        session.get_one(Node, broken.id).units[0].state = UnitState.BROKEN
    with cluster.store.read() as session:
        names = session.scalars(select(Node.name).where(is_troubled(clock())).order_by(Node.name)).all()
    assert names == ["broken", "silent"]
