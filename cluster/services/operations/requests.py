"""Requests an operation in the caller's transaction, enqueues it after the commit, and lets people retry one that
failed."""

from datetime import datetime

from sqlalchemy.orm import Session

from cluster.domain.errors import Conflict, Forbidden
from cluster.domain.people.actor import Actor
from cluster.domain.people.permissions import ALLOWED_RELATIONS, require_administrator, require_scope
from cluster.domain.states import DatasetState, EnvironmentState, OperationKind, OperationState, TaskQueue
from cluster.services.context import Cluster
from cluster.services.operations.queries import read_operation
from cluster.store.audit import add_audit_entry
from cluster.store.datasets import Dataset
from cluster.store.environments import Environment
from cluster.store.operations import Operation
from cluster.store.workspaces import Workspace

QUEUE_OF_KIND = {
    OperationKind.ENVIRONMENT_BUILD: TaskQueue.IMAGES,
    OperationKind.DATASET_IMPORT: TaskQueue.GENERAL,
    OperationKind.DATASET_SAMPLE: TaskQueue.GENERAL,
    OperationKind.DATASET_DELETE: TaskQueue.GENERAL,
    OperationKind.REPAIR: TaskQueue.REPAIR,
    OperationKind.BACKUP: TaskQueue.BACKUPS,
    OperationKind.NOTICES: TaskQueue.GENERAL,
}


def request_operation(
    session: Session,
    kind: OperationKind,
    subject_id: int | None,
    actor: Actor,
    now: datetime,
    workspace_id: int | None = None,
) -> Operation:
    """Records the intent in the caller's transaction; the caller calls `enqueue_operation` after its commit."""
    operation = Operation(
        kind=kind,
        queue=QUEUE_OF_KIND[kind],
        subject_id=subject_id,
        workspace_id=workspace_id,
        requested_by=actor.user_id,
        requested_at=now,
        enqueued_at=now,
    )
    session.add(operation)
    session.flush()
    return operation


def enqueue_operation(cluster: Cluster, operation: Operation) -> None:
    """Enqueues the operation in Redis and publishes the change. On servers repairs are not enqueued: their task
    worker polls the rows, because Redis may be what is repaired."""
    polls_repairs = cluster.settings.installation_kind.capabilities.polls_repairs
    if operation.queue is not TaskQueue.REPAIR or not polls_repairs:
        cluster.events.enqueue(operation.queue.value, operation.id)
    cluster.events.publish("operations", operation.id)


def can_retry_operation(cluster: Cluster, actor: Actor, operation: Operation) -> bool:
    """Its requester, the manager of its workspace and administrators may retry it; nobody retries a repair, see
    `retry_operation`."""
    if operation.kind == OperationKind.REPAIR:
        return False
    if actor.is_administrator or operation.requested_by == actor.user_id:
        return True
    if operation.workspace_id is None:
        return False
    with cluster.store.read() as session:
        return session.get_one(Workspace, operation.workspace_id).manager_id == actor.user_id


def retry_operation(cluster: Cluster, actor: Actor, operation_id: int) -> Operation:
    """Asks again for one that failed or was dropped. Raises Conflict where it is still under way or done.

    A repair asks for everything anew: administrator, forecast, typed name, drained nodes. Its form does that.
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
        requeue_operation(session, operation, now)
        add_audit_entry(session, now, actor, "operation.retried", operation_id, kind=operation.kind)
    enqueue_operation(cluster, operation)
    return operation


def requeue_operation(session: Session, operation: Operation, now: datetime) -> None:
    """The caller rings after its commit. Raises Conflict for a repair."""
    operation.state = OperationState.REQUESTED
    operation.error_code = operation.error_data = operation.ended_at = None
    operation.claims = 0
    operation.requested_at = operation.enqueued_at = now
    restart_subject(session, operation)


def restart_subject(session: Session, operation: Operation) -> None:
    """Sets the dataset or environment of the operation back to its in-progress state."""
    if operation.kind == OperationKind.ENVIRONMENT_BUILD:
        session.get_one(Environment, operation.subject_id).state = EnvironmentState.BUILDING
    elif operation.kind in (OperationKind.DATASET_IMPORT, OperationKind.DATASET_SAMPLE):
        dataset = session.get_one(Dataset, operation.subject_id)
        dataset.state = DatasetState.PREPARING
        dataset.error_code = dataset.error_data = None
    elif operation.kind == OperationKind.REPAIR:
        raise Conflict("repair.ask_again")
