"""Records a repair run in its row while the task worker carries it out, under the operation's fence."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy.orm import Session

from cluster.domain.people.actor import Actor
from cluster.domain.repairs.run_matrix import RepairVerdict
from cluster.services.context import Cluster
from cluster.services.operations.execution import fail_operation, finish_operation, load_claimed_operation
from cluster.services.repairs.offline_records import CONSOLE_ADDRESS
from cluster.services.repairs.requests import release_repair_locks
from cluster.store.audit import add_audit_entry
from cluster.store.operations import Operation
from cluster.store.repairs import RepairRun
from cluster.store.users import User

FAILURE_CODES = {
    RepairVerdict.NOT_VERIFIED: "repair.not_verified",
    RepairVerdict.CANCELLED: "repair.cancelled",
}
GOOD_VERDICTS = (RepairVerdict.VERIFIED, RepairVerdict.DRY_RUN)
Data = Sequence[dict[str, Any]]


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
    person = session.get_one(User, run.requested_by)
    return Actor(
        person.id, run.console_user or person.name, True, CONSOLE_ADDRESS if run.console_user else ""
    )


def record_run_failure(cluster: Cluster, operation: Operation, code: str, data: dict[str, Any]) -> None:
    record_run_end(cluster, operation, RepairVerdict.BROKEN, None, [], code=code, **data)
