"""The life of an operation's row: it is requested and enqueued, claimed by a task worker under a lease, reports its
steps, and is finished or failed."""

from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import or_, select, update
from sqlalchemy.orm import Session

from cluster.domain.errors import Conflict
from cluster.domain.people.actor import Actor
from cluster.domain.states import OperationKind, OperationState, TaskQueue
from cluster.services.context import Cluster
from cluster.store.operations import Operation

QUEUE_OF_KIND = {
    OperationKind.ENVIRONMENT_BUILD: TaskQueue.IMAGES,
    OperationKind.ENVIRONMENT_INSTALL: TaskQueue.IMAGES,
    OperationKind.ENVIRONMENT_DELETE: TaskQueue.GENERAL,
    OperationKind.EDITOR_BUILD: TaskQueue.IMAGES,
    OperationKind.DATASET_IMPORT: TaskQueue.GENERAL,
    OperationKind.DATASET_SAMPLE: TaskQueue.GENERAL,
    OperationKind.DATASET_DELETE: TaskQueue.GENERAL,
    OperationKind.CODE_IMPORT: TaskQueue.GENERAL,
    OperationKind.CODE_FETCH: TaskQueue.GENERAL,
    OperationKind.REPAIR: TaskQueue.REPAIR,
    OperationKind.BACKUP: TaskQueue.BACKUPS,
    OperationKind.NOTICES: TaskQueue.GENERAL,
}
CLAIM_LASTS = timedelta(seconds=10)


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
    """Enqueues the operation in Redis and publishes the change. Repairs and backups on servers are not enqueued: their
    task workers poll the rows.
    """
    if operation.queue not in cluster.settings.installation_kind.capabilities.polled_queues:
        cluster.events.enqueue(operation.queue.value, operation.id)
    cluster.events.publish("operations", operation.id)


def enqueue_requested_operations(cluster: Cluster, kind: OperationKind) -> None:
    """Enqueues all operations of this kind that nobody has claimed, because what they waited for exists now."""
    query = select(Operation).where(Operation.kind == kind, Operation.state == OperationState.REQUESTED)
    with cluster.store.read() as session:
        requested = list(session.scalars(query))
    for operation in requested:
        enqueue_operation(cluster, operation)


def claim_operation(cluster: Cluster, operation_id: int, holder: str) -> Operation | None:
    """Returns None if another worker holds it or it has ended. The caller then has nothing to do."""
    now = cluster.clock()
    claimable = or_(
        Operation.state == OperationState.REQUESTED,
        (Operation.state == OperationState.RUNNING) & (Operation.lease_until < now),
    )
    with cluster.store.write() as session:
        operation = session.scalar(
            select(Operation).where(Operation.id == operation_id, claimable).with_for_update()
        )
        if operation is None:
            return None
        operation.state = OperationState.RUNNING
        operation.holder = holder
        operation.fence += 1
        operation.claims += 1
        operation.lease_until = now + CLAIM_LASTS
        operation.started_at = operation.started_at or now
        operation.steps = []
        operation.progress = 0.0
    cluster.events.publish("operations", operation_id)
    return operation


def renew_operation(cluster: Cluster, operation_id: int, fence: int) -> bool:
    """Returns False if the lease belongs to another worker. The holder must then stop without another change."""
    with cluster.store.write() as session:
        renewed = session.execute(
            update(Operation)
            .where(is_claimed_under(operation_id, fence))
            .values(lease_until=cluster.clock() + CLAIM_LASTS)
            .returning(Operation.id)
        )
        return renewed.first() is not None


def is_claimed_under(operation_id: int, fence: int) -> Any:
    return (
        (Operation.id == operation_id)
        & (Operation.fence == fence)
        & (Operation.state == OperationState.RUNNING)
    )


def load_claimed_operation(session: Session, operation_id: int, fence: int) -> Operation:
    """Raises Conflict if the fence is stale."""
    operation = session.scalar(
        select(Operation).where(is_claimed_under(operation_id, fence)).with_for_update()
    )
    if operation is None:
        raise Conflict("operation.stale", id=operation_id, fence=fence)
    return operation


def plan_steps(cluster: Cluster, operation_id: int, fence: int, codes: list[str]) -> None:
    """Records all steps before the first begins, so that the page can show them."""
    with cluster.store.write() as session:
        operation = load_claimed_operation(session, operation_id, fence)
        operation.steps = [{"code": code, "state": "to_come"} for code in codes]
    cluster.events.publish("operations", operation_id)


def report_step(
    cluster: Cluster, operation_id: int, fence: int, code: str, progress: float, detail: str = ""
) -> None:
    """`progress` is that of the whole operation, 0 to 1. Steps before `code` become done."""
    now = cluster.clock()
    with cluster.store.write() as session:
        operation = load_claimed_operation(session, operation_id, fence)
        steps: list[dict[str, Any]] = [dict(step) for step in operation.steps]
        if code not in [step["code"] for step in steps]:
            steps.append({"code": code, "state": "to_come"})
        for step in steps:
            if step["code"] == code:
                step.setdefault("started_at", now.isoformat())
                step.update(state="now", detail=detail)
                break
            close_step(step, "done", now)
        operation.steps = steps
        operation.progress = min(1.0, max(0.0, progress))
    cluster.events.publish("operations", operation_id)


def close_step(step: dict[str, Any], state: str, now: datetime) -> None:
    if step["state"] in ("to_come", "now"):
        step.setdefault("started_at", now.isoformat())
        step["state"] = state
        step["ended_at"] = now.isoformat()


def finish_operation(session: Session, operation_id: int, fence: int, now: datetime) -> Operation:
    """Ends the operation successfully in the caller's transaction, which also writes its result."""
    operation = load_claimed_operation(session, operation_id, fence)
    steps = [dict(step) for step in operation.steps]
    for step in steps:
        close_step(step, "done", now)
    operation.steps = steps
    operation.progress = 1.0
    return end_operation(operation, OperationState.FINISHED, now)


def fail_operation(
    session: Session, operation_id: int, fence: int, now: datetime, code: str, data: dict[str, Any]
) -> Operation:
    operation = load_claimed_operation(session, operation_id, fence)
    steps = [dict(step) for step in operation.steps]
    for step in steps:
        if step["state"] == "now":
            close_step(step, "failed", now)
    operation.steps = steps
    operation.error_code = code
    operation.error_data = data
    return end_operation(operation, OperationState.FAILED, now)


def finish_claimed_operation(cluster: Cluster, operation: Operation) -> None:
    """Ends the operation successfully in a transaction of its own. Raises Conflict if the fence is stale."""
    with cluster.store.write() as session:
        finish_operation(session, operation.id, operation.fence, cluster.clock())
    cluster.events.publish("operations", operation.id)


def fail_claimed_operation(cluster: Cluster, operation: Operation, code: str, data: dict[str, Any]) -> None:
    """Records the failure of an operation without another row. Raises Conflict if the fence is stale."""
    with cluster.store.write() as session:
        fail_operation(session, operation.id, operation.fence, cluster.clock(), code, data)
    cluster.events.publish("operations", operation.id)


def end_operation(operation: Operation, state: OperationState, now: datetime) -> Operation:
    operation.state = state
    operation.ended_at = now
    operation.lease_until = None
    return operation
