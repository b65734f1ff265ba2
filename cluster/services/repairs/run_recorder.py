"""Records a repair run in its row while the task worker carries it out, under the operation's fence."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from cluster.domain.people.actor import Actor
from cluster.domain.repairs.run_matrix import RepairVerdict
from cluster.domain.states import OperationKind, OperationState
from cluster.services.context import Cluster
from cluster.services.operations.execution import fail_operation, finish_operation, load_claimed_operation
from cluster.services.operations.requests import enqueue_operation, requeue_operation
from cluster.services.people.users import service_actor
from cluster.services.repairs.offline_records import CONSOLE_ADDRESS
from cluster.services.repairs.requests import release_repair_locks
from cluster.store.audit import add_audit_entry
from cluster.store.base import LARGEST_ID
from cluster.store.operations import Operation
from cluster.store.repairs import RepairRun
from cluster.store.users import User

FAILURE_CODES = {
    RepairVerdict.NOT_VERIFIED: "repair.not_verified",
    RepairVerdict.CANCELLED: "repair.cancelled",
}
GOOD_VERDICTS = (RepairVerdict.VERIFIED, RepairVerdict.DRY_RUN)
Data = Sequence[dict[str, Any]]
IS_STUCK = (Operation.state == OperationState.INTERRUPTED) & (Operation.kind != OperationKind.REPAIR)


def read_run_of_operation(cluster: Cluster, operation: Operation) -> RepairRun:
    with cluster.store.read() as session:
        return session.get_one(RepairRun, operation.subject_id)


def record_run_start(cluster: Cluster, operation: Operation, before: Data) -> RepairRun:
    """Keeps what the checks said before anything was changed. Stale: Conflict."""
    with cluster.store.write() as session:
        load_claimed_operation(session, operation.id, operation.fence)
        run = session.get_one(RepairRun, operation.subject_id)
        run.before = list(before)
        run.started_at = run.started_at or cluster.clock()
    cluster.events.publish("operations", operation.id)
    return run


def record_run_tasks(cluster: Cluster, operation: Operation, tasks: Data, progress: float) -> None:
    with cluster.store.write() as session:
        held = load_claimed_operation(session, operation.id, operation.fence)
        held.progress = progress
        session.get_one(RepairRun, operation.subject_id).tasks = list(tasks)
    cluster.events.publish("operations", operation.id)


def record_run_checks(cluster: Cluster, operation: Operation, checks: Data) -> None:
    """While the verification waits: what each check says now."""
    with cluster.store.write() as session:
        load_claimed_operation(session, operation.id, operation.fence)
        session.get_one(RepairRun, operation.subject_id).checks = list(checks)
    cluster.events.publish("operations", operation.id)


def record_run_end(
    cluster: Cluster, operation: Operation, verdict: RepairVerdict, rc: int | None, checks: Data, **why: Any
) -> None:
    """Ends run and operation; the target is free from here on. Stale: Conflict."""
    now = cluster.clock()
    with cluster.store.write() as session:
        if verdict in GOOD_VERDICTS:
            finish_operation(session, operation.id, operation.fence, now)
        else:
            code = str(why.pop("code", FAILURE_CODES.get(verdict, "")))
            fail_operation(session, operation.id, operation.fence, now, code, why)
        run = session.get_one(RepairRun, operation.subject_id)
        run.verdict, run.playbook_rc, run.checks, run.ended_at = verdict, rc, list(checks), now
        release_repair_locks(session, run.id, now)
        data = {"name": run.name, "host": run.host, "verdict": verdict.value}
        outcome = "done" if verdict in GOOD_VERDICTS else "failed"
        add_audit_entry(session, now, requester_of(session, run), "repair.ended", run.id, outcome, **data)
    cluster.events.publish("operations", operation.id)


def requester_of(session: Session, run: RepairRun) -> Actor:
    """The person who requested the run; for a run of the console, the user who was signed in there."""
    person = session.get_one(User, run.asked_by)
    return Actor(
        person.id, run.console_user or person.name, True, CONSOLE_ADDRESS if run.console_user else ""
    )


def record_run_failure(cluster: Cluster, operation: Operation, code: str, data: dict[str, Any]) -> None:
    record_run_end(cluster, operation, RepairVerdict.BROKEN, None, [], code=code, **data)


def count_stuck_operations(cluster: Cluster) -> int:
    """Operations that were dropped too often: a person decides, and a repair is how."""
    with cluster.store.read() as session:
        query = select(Operation.id).where(IS_STUCK)
        return len(session.scalars(query).all())


def release_stuck_operations(cluster: Cluster, number: str) -> list[int]:
    """Asks again for every operation that was given up, for the repair of this number. Returns their ids.

    Repairs are none of them: each is closed and asked for anew from its forecast.
    """
    now = cluster.clock()
    # A run that the console began without the database is no row yet: its record tells who it was.
    actor = replace(service_actor(cluster), address=CONSOLE_ADDRESS)
    with cluster.store.write() as session:
        known = RepairRun.id == int(number) if int(number) <= LARGEST_ID else RepairRun.record == number
        run = session.scalar(select(RepairRun).where(known))
        if run is not None:
            actor = requester_of(session, run)
        stuck = session.scalars(select(Operation).where(IS_STUCK).with_for_update()).all()
        for operation in stuck:
            requeue_operation(session, operation, now)
            add_audit_entry(
                session, now, actor, "operation.retried", operation.id, kind=operation.kind, repair=number
            )
    for operation in stuck:
        enqueue_operation(cluster, operation)
    return [operation.id for operation in stuck]
