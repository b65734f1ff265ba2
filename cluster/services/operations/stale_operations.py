"""Finds stale operations: enqueues those that no task worker has claimed, requeues those whose lease has expired, and
gives up after five claims.
"""

from datetime import datetime, timedelta

from sqlalchemy import or_, select

from cluster.domain.states import OperationKind, OperationState
from cluster.services.context import Cluster
from cluster.services.operations.lifecycle import end_operation, enqueue_operation
from cluster.store.operations import Operation

ENQUEUE_AGAIN_AFTER = timedelta(seconds=2)
ENQUEUE_AGAIN_AT_MOST = timedelta(seconds=10)
MAX_CLAIMS = 5


def requeue_stale_operations(cluster: Cluster) -> None:
    """Enqueues operations that no task worker has claimed, and requeues those whose lease has expired.

    An operation that was claimed MAX_CLAIMS times without an end is marked interrupted, and a person decides.
    """
    now = cluster.clock()
    to_ring: list[Operation] = []
    # The condition is part of the query because PostgreSQL checks it again for a row that its holder changed
    # meanwhile.
    silent = select(Operation).where(Operation.state == OperationState.RUNNING, Operation.lease_until < now)
    unheard = select(Operation).where(
        Operation.state == OperationState.REQUESTED,
        or_(Operation.enqueued_at.is_(None), Operation.enqueued_at < now - ENQUEUE_AGAIN_AFTER),
    )
    with cluster.store.read() as session:
        if session.scalar(silent.limit(1)) is None and session.scalar(unheard.limit(1)) is None:
            return
    with cluster.store.write() as session:
        for operation in session.scalars(silent.with_for_update()):
            if operation.claims >= MAX_CLAIMS:
                end_operation(operation, OperationState.INTERRUPTED, now)
                code = "repair.dropped" if operation.kind == OperationKind.REPAIR else "operation.dropped"
                operation.error_code, operation.error_data = code, {"times": operation.claims}
                continue
            operation.state = OperationState.REQUESTED
            operation.lease_until = None
            operation.enqueued_at = now
            to_ring.append(operation)
        for operation in session.scalars(unheard.with_for_update()):
            if operation.enqueued_at is None or now - operation.enqueued_at >= delay_before_enqueueing(
                operation, now
            ):
                operation.enqueued_at = now
                to_ring.append(operation)
    for operation in to_ring:
        enqueue_operation(cluster, operation)


def delay_before_enqueueing(operation: Operation, now: datetime) -> timedelta:
    """Returns a delay that grows with the wait, so that a long queue does not hold many copies of one message."""
    asked_at = operation.retried_at or operation.requested_at
    return min(ENQUEUE_AGAIN_AT_MOST, max(ENQUEUE_AGAIN_AFTER, (now - asked_at) / 2))
