"""Operations of a kind that nobody holds are found in the rows; those that were dropped too often are a person's."""

from datetime import timedelta

from cluster.domain.states import OperationKind
from cluster.services.context import Cluster
from cluster.services.operations import lifecycle
from cluster.services.operations.stale_operations import MAX_CLAIMS
from tests.conftest import Clock
from tests.store.worker.tasks.test_repair_worker import ask, on_servers
from worker.tasks.claimable_operations import list_claimable_operations


def test_one_that_is_held_is_left_alone_until_its_holder_falls_silent(cluster: Cluster, clock: Clock) -> None:
    servers = on_servers(cluster)
    operation_id = ask(servers)
    assert lifecycle.claim_operation(servers, operation_id, "first") is not None
    assert list_claimable_operations(servers, OperationKind.REPAIR) == []
    clock.now += lifecycle.CLAIM_LASTS + timedelta(seconds=1)
    assert list_claimable_operations(servers, OperationKind.REPAIR) == [operation_id]


def test_one_that_was_dropped_too_often_is_a_persons_affair(cluster: Cluster, clock: Clock) -> None:
    servers = on_servers(cluster)
    operation_id = ask(servers)
    for _ in range(MAX_CLAIMS):
        assert list_claimable_operations(servers, OperationKind.REPAIR) == [operation_id]
        lifecycle.claim_operation(servers, operation_id, "somebody")
        clock.now += lifecycle.CLAIM_LASTS + timedelta(seconds=1)
    assert list_claimable_operations(servers, OperationKind.REPAIR) == []
