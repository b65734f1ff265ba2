"""Counts and requeues the operations that were given up, for the repair that releases them."""

from dataclasses import replace

from sqlalchemy import select

from cluster.domain.states import OperationKind, OperationState
from cluster.services.context import Cluster
from cluster.services.operations.lifecycle import enqueue_operation
from cluster.services.operations.retries import requeue_operation
from cluster.services.people.users import service_actor
from cluster.services.repairs.offline_records import CONSOLE_ADDRESS
from cluster.services.repairs.repair_runs import requester_of
from cluster.store.audit import add_audit_entry
from cluster.store.base import LARGEST_ID
from cluster.store.operations import Operation
from cluster.store.repairs import RepairRun

IS_STUCK = (Operation.state == OperationState.INTERRUPTED) & (Operation.kind != OperationKind.REPAIR)


def count_stuck_operations(cluster: Cluster) -> int:
    """The number of operations that were given up after too many claims. A repair releases them."""
    with cluster.store.read() as session:
        query = select(Operation.id).where(IS_STUCK)
        return len(session.scalars(query).all())


def release_stuck_operations(cluster: Cluster, number: str) -> list[int]:
    """Requeues every operation that was given up, for the repair of this number. Returns their ids.

    Repairs are left out: a person has to close each and to request it again from its preview.
    """
    now = cluster.clock()
    # A run that the console began without the database has no row yet; its record names the user.
    actor = replace(service_actor(cluster), address=CONSOLE_ADDRESS)
    with cluster.store.write() as session:
        known = (
            RepairRun.id == int(number) if int(number) <= LARGEST_ID else RepairRun.offline_record == number
        )
        run = session.scalar(select(RepairRun).where(known))
        if run is not None:
            actor = requester_of(session, run)
        stuck = session.scalars(select(Operation).where(IS_STUCK).with_for_update()).all()
        for operation in stuck:
            requeue_operation(session, operation, actor, now)
            add_audit_entry(
                session, now, actor, "operation.retried", operation.id, kind=operation.kind, repair=number
            )
    for operation in stuck:
        enqueue_operation(cluster, operation)
    return [operation.id for operation in stuck]
