"""An operation that no worker has taken is rung again."""

from datetime import timedelta

from cluster.domain.states import OperationState
from cluster.services.context import Cluster
from cluster.services.images import environments
from cluster.services.operations import lifecycle, retries
from cluster.services.operations.stale_operations import MAX_CLAIMS, requeue_stale_operations
from cluster.store.operations import Operation
from tests.builders import actor_of, an_administrator
from tests.conftest import Clock, RecordingBell


def a_build(cluster: Cluster) -> int:
    environment = environments.ensure_default_environment(
        cluster, actor_of(an_administrator(cluster)), "d1", "/e"
    )
    assert environment.operation_id is not None
    return environment.operation_id


def read(cluster: Cluster, operation_id: int) -> Operation:
    with cluster.store.read() as session:
        return session.get_one(Operation, operation_id)


def claim(cluster: Cluster, operation_id: int, holder: str = "first") -> Operation:
    operation = lifecycle.claim_operation(cluster, operation_id, holder)
    assert operation is not None
    return operation


def test_one_that_is_dropped_again_and_again_waits_for_a_person(cluster: Cluster, clock: Clock) -> None:
    operation_id = a_build(cluster)
    for _ in range(MAX_CLAIMS):
        claim(cluster, operation_id)
        clock.now += lifecycle.CLAIM_LASTS + timedelta(seconds=1)
        requeue_stale_operations(cluster)
    dropped = read(cluster, operation_id)
    assert (dropped.state, dropped.error_code) == (OperationState.INTERRUPTED, "operation.dropped")
    retries.retry_operation(cluster, actor_of(an_administrator(cluster)), operation_id)
    assert claim(cluster, operation_id).fence == MAX_CLAIMS + 1


def test_an_unheard_bell_is_rung_again_with_growing_pauses(
    cluster: Cluster, clock: Clock, bell: RecordingBell
) -> None:
    a_build(cluster)
    rings = []
    for second in range(1, 61):
        clock.move(seconds=1)
        before = len(bell.enqueued)
        requeue_stale_operations(cluster)
        if len(bell.enqueued) > before:
            rings.append(second)
    assert rings[0] <= 3
    pauses = [later - sooner for sooner, later in zip(rings, rings[1:], strict=False)]
    assert pauses == sorted(pauses)
    assert max(pauses) <= 11
