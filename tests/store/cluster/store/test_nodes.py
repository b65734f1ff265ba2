"""What nodes offer: working units on nodes that run jobs, and whether people call them GPUs or CPU slots."""

from datetime import timedelta

import pytest
from sqlalchemy.exc import IntegrityError

from cluster.domain.states import UnitKind, UnitState
from cluster.services.context import Cluster
from cluster.store.nodes import NodeToken, count_offered_units, offered_unit_kind
from tests.builders import a_node, add


def count(cluster: Cluster) -> int:
    with cluster.store.read() as session:
        return count_offered_units(session)


def kind(cluster: Cluster) -> UnitKind:
    """Asked of a session and of a plain connection."""
    with cluster.store.read() as session, cluster.store.read_columns() as connection:
        found = offered_unit_kind(session)
        assert offered_unit_kind(connection) is found
        return found


def test_working_units_of_nodes_that_run_jobs_are_offered(cluster: Cluster) -> None:
    assert count(cluster) == 0
    a_node(cluster, units=2)
    a_node(cluster, units=4, has_executor=False)
    a_node(cluster, units=8, state=UnitState.BROKEN)
    a_node(cluster, units=16, state=UnitState.GONE)
    assert count(cluster) == 2
    cluster.clock.move(days=3)  # type: ignore[attr-defined]
    assert count(cluster) == 2, "a silent node keeps what terms hold"


def test_units_are_called_gpus_once_a_node_that_runs_jobs_has_one(cluster: Cluster) -> None:
    assert kind(cluster) is UnitKind.CPU_SLOT
    a_node(cluster)
    a_node(cluster, kind=UnitKind.GPU, has_executor=False)
    a_node(cluster, kind=UnitKind.GPU, state=UnitState.GONE)
    assert kind(cluster) is UnitKind.CPU_SLOT
    a_node(cluster, kind=UnitKind.GPU, state=UnitState.BROKEN)
    assert kind(cluster) is UnitKind.GPU


def test_a_node_has_one_live_token(cluster: Cluster) -> None:
    def token(is_revoked: bool = False) -> NodeToken:
        at = cluster.clock()
        return NodeToken(
            name="gpu01",
            secret_hash="h",
            created_at=at,
            revoked_at=at + timedelta(hours=1) if is_revoked else None,
        )

    add(cluster, token(is_revoked=True), token(is_revoked=True), token())
    with pytest.raises(IntegrityError):
        add(cluster, token())
