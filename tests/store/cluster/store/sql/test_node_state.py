"""SQL decides the state of a node as the domain does."""

from datetime import timedelta
from itertools import product

from sqlalchemy import select

from cluster.domain.nodes.node_state import UNREACHABLE_AFTER, node_state_of
from cluster.domain.states import NodeState
from cluster.services.context import Cluster
from cluster.store.nodes import Node
from cluster.store.sql.node_state import node_state_column


def test_every_combination_of_signals_has_the_same_state_in_sql(cluster: Cluster) -> None:
    now = cluster.clock()
    ages = (None, timedelta(0), UNREACHABLE_AFTER, UNREACHABLE_AFTER + timedelta(milliseconds=1))
    signals = list(product(ages, (True, False), (None, now), (None, now)))
    with cluster.store.write() as session:
        for number, (age, has_executor, draining_since, lost_at) in enumerate(signals):
            session.add(
                Node(
                    name=f"n{number}",
                    heartbeat_at=None if age is None else now - age,
                    has_executor=has_executor,
                    draining_since=draining_since,
                    lost_at=lost_at,
                    created_at=now,
                )
            )
    with cluster.store.read() as session:
        rows = session.execute(select(Node, node_state_column(now))).all()
    assert {state for _, state in rows} == set(NodeState)
    assert [(node.name, state) for node, state in rows] == [
        (node.name, node_state_of(node, now)) for node, _ in rows
    ]
