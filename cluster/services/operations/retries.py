"""Requests an operation again that failed or was given up, if the person may and another try can succeed."""

from datetime import datetime

from sqlalchemy.orm import Session

from cluster.domain.errors import Conflict, Forbidden
from cluster.domain.operation_retries import retry_obstacle
from cluster.domain.people.actor import Actor
from cluster.domain.people.permissions import ALLOWED_RELATIONS, require_administrator, require_scope
from cluster.domain.states import OperationKind, OperationState
from cluster.services.context import Cluster
from cluster.services.operations.lifecycle import enqueue_operation
from cluster.services.operations.queries import is_manager_of, is_still_own, read_operation
from cluster.services.operations.subjects import restart_subject
from cluster.store.audit import add_audit_entry
from cluster.store.datasets import Dataset
from cluster.store.operations import Operation


def can_retry_operation(cluster: Cluster, actor: Actor, operation: Operation) -> bool:
    """Whether the actor is the requester of the operation who still may see it, the manager of its workspace, or an
    administrator. Nobody retries a repair, see `retry_operation`.
    """
    if operation.kind == OperationKind.REPAIR:
        return False
    if actor.is_administrator:
        return True
    with cluster.store.read() as session:
        return is_still_own(session, actor, operation) or is_manager_of(session, actor, operation)


def read_retry_obstacle(cluster: Cluster, operation: Operation) -> str | None:
    """The code of the reason why another try of this operation is useless; None if a try may succeed."""
    with cluster.store.read() as session:
        return load_retry_obstacle(session, operation)


def load_retry_obstacle(session: Session, operation: Operation) -> str | None:
    is_deleted = False
    if operation.kind in (OperationKind.DATASET_IMPORT, OperationKind.DATASET_SAMPLE):
        dataset = session.get(Dataset, operation.subject_id)
        is_deleted = dataset is None or dataset.deleted_at is not None
    return retry_obstacle(operation.error_code, is_subject_deleted=is_deleted)


def retry_operation(cluster: Cluster, actor: Actor, operation_id: int) -> Operation:
    """Requests an operation again that failed or was given up. Raises Conflict if it is running or done, and if another
    try cannot succeed.

    A repair cannot be retried here, because it needs a new request with preview, typed name and drained nodes.
    """
    asked = read_operation(cluster, actor, operation_id)
    if asked.kind == OperationKind.REPAIR:
        require_administrator(actor)
        require_scope(actor, "repair")
        raise Conflict("repair.ask_again")
    if not can_retry_operation(cluster, actor, asked):
        raise Forbidden("forbidden.operation.retry", allowed=sorted(ALLOWED_RELATIONS["operation.retry"]))
    now = cluster.clock()
    with cluster.store.write() as session:
        operation = session.get_one(Operation, operation_id, with_for_update=True)
        if operation.state not in (OperationState.FAILED, OperationState.INTERRUPTED):
            raise Conflict("operation.not_ended_badly", id=operation_id)
        if obstacle := load_retry_obstacle(session, operation):
            raise Conflict(obstacle, id=operation_id)
        requeue_operation(session, operation, actor, now)
        add_audit_entry(session, now, actor, "operation.retried", operation_id, kind=operation.kind)
    enqueue_operation(cluster, operation)
    return operation


def requeue_operation(session: Session, operation: Operation, actor: Actor, now: datetime) -> None:
    """Requeues the operation for this person. The caller enqueues it after its commit. Raises Conflict for a repair."""
    operation.state = OperationState.REQUESTED
    operation.error_code = operation.error_data = operation.started_at = operation.ended_at = None
    operation.claims = 0
    operation.enqueued_at = operation.retried_at = now
    operation.retried_by = actor.name
    restart_subject(session, operation)
