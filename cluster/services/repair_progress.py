"""What the task worker writes about a repair while it runs: under the operation's fence, in one transaction each."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from cluster.domain.people import Actor
from cluster.domain.repair_runs import Verdict
from cluster.domain.states import OperationKind, OperationState
from cluster.services.context import Cluster
from cluster.services.operations import ask_again, fail_in, finish_in, load_held, ring_operation
from cluster.services.repair_records import CONSOLE
from cluster.services.repairs import release_targets
from cluster.services.users import service_actor
from cluster.store.audit import write_entry
from cluster.store.base import LARGEST_ID
from cluster.store.operations import Operation
from cluster.store.repairs import RepairRun
from cluster.store.users import User

FAILURES = {Verdict.NOT_VERIFIED: "repair.not_verified", Verdict.CANCELLED: "repair.cancelled"}
WELL = (Verdict.VERIFIED, Verdict.LOOKED_AHEAD)
Data = Sequence[dict[str, Any]]
STUCK = (Operation.state == OperationState.INTERRUPTED) & (Operation.kind != OperationKind.REPAIR)


def read_subject(cluster: Cluster, operation: Operation) -> RepairRun:
    with cluster.store.read() as session:
        return session.get_one(RepairRun, operation.subject_id)


def begin_run(cluster: Cluster, operation: Operation, before: Data) -> RepairRun:
    """Keeps what the checks said before anything was changed. Stale: Conflict."""
    with cluster.store.write() as session:
        load_held(session, operation.id, operation.fence)
        run = session.get_one(RepairRun, operation.subject_id)
        run.before = list(before)
        run.started_at = run.started_at or cluster.clock()
    cluster.bell.ring("operations", operation.id)
    return run


def record_tasks(cluster: Cluster, operation: Operation, tasks: Data, progress: float) -> None:
    with cluster.store.write() as session:
        held = load_held(session, operation.id, operation.fence)
        held.progress = progress
        session.get_one(RepairRun, operation.subject_id).tasks = list(tasks)
    cluster.bell.ring("operations", operation.id)


def record_checks(cluster: Cluster, operation: Operation, checks: Data) -> None:
    """While the verification waits: what each check says now."""
    with cluster.store.write() as session:
        load_held(session, operation.id, operation.fence)
        session.get_one(RepairRun, operation.subject_id).checks = list(checks)
    cluster.bell.ring("operations", operation.id)


def finish_run(
    cluster: Cluster, operation: Operation, verdict: Verdict, rc: int | None, checks: Data, **why: Any
) -> None:
    """Ends run and operation; the target is free from here on. Stale: Conflict."""
    now = cluster.clock()
    with cluster.store.write() as session:
        if verdict in WELL:
            finish_in(session, operation.id, operation.fence, now)
        else:
            code = str(why.pop("code", FAILURES.get(verdict, "")))
            fail_in(session, operation.id, operation.fence, now, code, why)
        run = session.get_one(RepairRun, operation.subject_id)
        run.verdict, run.playbook_rc, run.checks, run.ended_at = verdict, rc, list(checks), now
        release_targets(session, run.id, now)
        data = {"name": run.name, "host": run.host, "verdict": verdict.value}
        outcome = "done" if verdict in WELL else "failed"
        write_entry(session, now, asker_of(session, run), "repair.ended", run.id, outcome, **data)
    cluster.bell.ring("operations", operation.id)


def asker_of(session: Session, run: RepairRun) -> Actor:
    """Whoever clicked; of the installation's own hand at the console, whoever was signed in there."""
    person = session.get_one(User, run.asked_by)
    return Actor(person.id, run.console_user or person.name, True, CONSOLE if run.console_user else "")


def fail_run(cluster: Cluster, operation: Operation, code: str, data: dict[str, Any]) -> None:
    finish_run(cluster, operation, Verdict.BROKEN, None, [], code=code, **data)


def count_stuck(cluster: Cluster) -> int:
    """Operations that were dropped too often: a person decides, and a repair is how."""
    with cluster.store.read() as session:
        query = select(Operation.id).where(STUCK)
        return len(session.scalars(query).all())


def release_stuck(cluster: Cluster, number: str) -> list[int]:
    """Asks again for every operation that was given up, for the repair of this number. Returns their ids.

    Repairs are none of them: each is closed and asked for anew from its forecast.
    """
    now = cluster.clock()
    # A run that the console began without the database is no row yet: its record tells who it was.
    actor = replace(service_actor(cluster), address=CONSOLE)
    with cluster.store.write() as session:
        known = RepairRun.id == int(number) if int(number) <= LARGEST_ID else RepairRun.record == number
        run = session.scalar(select(RepairRun).where(known))
        if run is not None:
            actor = asker_of(session, run)
        stuck = session.scalars(select(Operation).where(STUCK).with_for_update()).all()
        for operation in stuck:
            ask_again(session, operation, now)
            write_entry(
                session, now, actor, "operation.retried", operation.id, kind=operation.kind, repair=number
            )
    for operation in stuck:
        ring_operation(cluster, operation)
    return [operation.id for operation in stuck]
