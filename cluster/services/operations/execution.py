"""The task worker's side of an operation: claim it, renew its lease, report its steps, finish or fail it."""

from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import or_, select, update
from sqlalchemy.orm import Session

from cluster.domain.errors import Conflict
from cluster.domain.states import OperationState
from cluster.services.context import Cluster
from cluster.store.operations import Operation

CLAIM_LASTS = timedelta(seconds=10)


def claim_operation(cluster: Cluster, operation_id: int, holder: str) -> Operation | None:
    """None: somebody else holds it, or it has ended; the caller has nothing to do."""
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
    """False: the lease went to somebody else; the holder must stop without another change."""
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
    """Raises Conflict where the fence is stale."""
    operation = session.scalar(
        select(Operation).where(is_claimed_under(operation_id, fence)).with_for_update()
    )
    if operation is None:
        raise Conflict("operation.stale", id=operation_id, fence=fence)
    return operation


def plan_steps(cluster: Cluster, operation_id: int, fence: int, codes: list[str]) -> None:
    """Names all steps before the first begins, so that the page can show what is to come."""
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
    """Ends it well inside the caller's transaction, which also writes what the operation was for."""
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


def end_operation(operation: Operation, state: OperationState, now: datetime) -> Operation:
    operation.state = state
    operation.ended_at = now
    operation.lease_until = None
    return operation
