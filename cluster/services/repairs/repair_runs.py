"""The rows of repair runs: requested, cancelled, recorded while a driver carries them out, and ended.

A run does what its preview showed, and each target has one run at a time.
"""

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import select, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from cluster.domain.errors import Conflict, NotFound
from cluster.domain.people.actor import Actor
from cluster.domain.people.permissions import require_administrator, require_scope
from cluster.domain.repairs.definition import (
    check_dry_run,
    check_inventory_host,
    check_nodes_chosen,
    check_nodes_drained,
    check_reason,
    check_typed_name,
)
from cluster.domain.repairs.run_matrix import RepairVerdict
from cluster.domain.states import OperationKind, OperationState
from cluster.services.context import Cluster
from cluster.services.operations.lifecycle import (
    end_operation,
    enqueue_operation,
    fail_operation,
    finish_operation,
    load_claimed_operation,
    request_operation,
)
from cluster.services.repairs.offline_records import CONSOLE_ADDRESS
from cluster.services.repairs.past_runs import WITH_PEOPLE, find_locking_run
from cluster.services.repairs.previews import preview_repair
from cluster.store.audit import add_audit_entry
from cluster.store.nodes import Node
from cluster.store.operations import Operation
from cluster.store.repairs import RepairLock, RepairRun
from cluster.store.users import User

FAILURE_CODES = {
    RepairVerdict.NOT_VERIFIED: "repair.not_verified",
    RepairVerdict.CANCELLED: "repair.cancelled",
}
GOOD_VERDICTS = (RepairVerdict.VERIFIED, RepairVerdict.DRY_RUN)
Data = Sequence[dict[str, Any]]


def request_repair(
    cluster: Cluster,
    actor: Actor,
    name: str,
    etag: str,
    reason: str,
    typed: str = "",
    console_user: str | None = None,
    node_ids: Sequence[int] = (),
    is_dry_run: bool = False,
) -> RepairRun:
    """Raises Refused, Forbidden, NotFound, or Conflict if the preview has changed or another
    run has locked a target.
    """
    require_administrator(actor)
    require_scope(actor, "repair")
    seen = preview_repair(cluster, actor, name, node_ids)
    check_nodes_chosen(seen.repair, seen.targets)
    reason = check_reason(reason)
    check_dry_run(seen.repair, is_dry_run)
    if not is_dry_run:
        check_typed_name(seen.repair, typed, seen.host)
        check_nodes_drained(seen.repair, seen.busy)
    require_no_other_run(seen.under_way)
    if etag != seen.etag:
        raise Conflict("repair.forecast_changed", name=name)
    now = cluster.clock()
    run = RepairRun(
        name=name,
        target=seen.targets[0].key,
        host=seen.host[:255],
        targets=[[target.key, check_inventory_host(target.host)] for target in seen.targets],
        is_dry_run=is_dry_run,
        digest=seen.digest,
        reason=reason,
        requested_by=actor.user_id,
        console_user=console_user,
        requested_at=now,
        reclaimable_paths=[[str(leftover.path), leftover.size] for leftover in seen.leftovers],
        tasks=[{"name": task.en, "hosts": {}} for task in seen.repair.tasks],
    )
    try:
        with cluster.store.write() as session:
            session.add(run)
            session.flush()
            session.add_all([RepairLock(run_id=run.id, target=key) for key in run.locks])
            operation = request_operation(session, OperationKind.REPAIR, run.id, actor, now)
            run.operation_id = operation.id
            add_audit_entry(
                session, now, actor, "repair.asked", run.id, name=name, host=run.host, reason=reason
            )
    except IntegrityError:
        with cluster.store.read() as session:
            require_no_other_run(find_locking_run(session, seen.targets))
        raise
    enqueue_operation(cluster, operation)
    return run


def require_no_other_run(under_way: RepairRun | None) -> None:
    if under_way is not None:
        raise Conflict(
            "repair.under_way",
            run=under_way.id,
            host=under_way.host,
            who=under_way.who,
            at=under_way.requested_at.isoformat(),
        )


def read_repair_run(cluster: Cluster, actor: Actor, run_id: int) -> RepairRun:
    """Raises Forbidden, NotFound."""
    require_administrator(actor)
    with cluster.store.read() as session:
        run = session.scalar(select(RepairRun).where(RepairRun.id == run_id).options(*WITH_PEOPLE))
    if run is None:
        raise NotFound("repair", run_id)
    return run


def list_repair_runs(
    cluster: Cluster, actor: Actor, before_id: int | None = None, limit: int = 20
) -> list[RepairRun]:
    """The runs, newest first."""
    require_administrator(actor)
    query = select(RepairRun).options(*WITH_PEOPLE).order_by(RepairRun.id.desc()).limit(limit)
    if before_id is not None:
        query = query.where(RepairRun.id < before_id)
    with cluster.store.read() as session:
        return list(session.scalars(query))


def read_node_ids(cluster: Cluster, names: Collection[str]) -> list[int]:
    with cluster.store.read() as session:
        return list(session.scalars(select(Node.id).where(Node.name.in_(names)).order_by(Node.name)))


def cancel_repair(cluster: Cluster, actor: Actor, run_id: int) -> RepairRun:
    """The first call asks the playbook to end, the second one kills it. Raises Conflict once it has ended.

    A run whose operation was given up is closed: no worker carries it out, and its targets become free.
    """
    require_administrator(actor)
    require_scope(actor, "repair")
    now = cluster.clock()
    with cluster.store.write() as session:
        run = session.get(RepairRun, run_id, with_for_update=True)
        if run is None:
            raise NotFound("repair", run_id)
        if run.ended_at is not None:
            raise Conflict("repair.over", id=run_id)
        run.is_forced = run.cancel_requested_at is not None
        run.cancel_requested_at = run.cancel_requested_at or now
        add_audit_entry(session, now, actor, "repair.cancelled", run.id, name=run.name, forced=run.is_forced)
        operation = (
            session.get(Operation, run.operation_id, with_for_update=True) if run.operation_id else None
        )
        if operation is not None and operation.state is OperationState.INTERRUPTED:
            close_interrupted_run(session, actor, run, operation, now)
    cluster.events.publish("operations", run.operation_id or 0)
    return run


def close_interrupted_run(
    session: Session, actor: Actor, run: RepairRun, operation: Operation, now: datetime
) -> None:
    operation.error_code, operation.error_data = "repair.closed", {}
    end_operation(operation, OperationState.FAILED, now)
    end_run(session, actor, run, RepairVerdict.BROKEN, now)


def end_run(session: Session, actor: Actor, run: RepairRun, verdict: RepairVerdict, now: datetime) -> None:
    """Writes the verdict and frees the targets."""
    run.verdict, run.ended_at = verdict, now
    held = update(RepairLock).where(RepairLock.run_id == run.id, RepairLock.released_at.is_(None))
    session.execute(held.values(released_at=now))
    ended = {"name": run.name, "host": run.host, "verdict": verdict.value}
    outcome = "done" if verdict in GOOD_VERDICTS else "failed"
    add_audit_entry(session, now, actor, "repair.ended", run.id, outcome, **ended)


def read_run_of_operation(cluster: Cluster, operation: Operation) -> RepairRun:
    with cluster.store.read() as session:
        return session.get_one(RepairRun, operation.subject_id)


def load_claimed_run(session: Session, operation: Operation) -> tuple[Operation, RepairRun]:
    """Locks the run before its operation, as `cancel_repair` does, to avoid a deadlock. Raises Conflict if the fence
    is stale.
    """
    run = session.get_one(RepairRun, operation.subject_id, with_for_update=True)
    return load_claimed_operation(session, operation.id, operation.fence), run


def record_run_start(cluster: Cluster, operation: Operation, before: Data) -> None:
    """Records the results of the checks before anything was changed. Raises Conflict if the fence is stale."""
    with cluster.store.write() as session:
        _, run = load_claimed_run(session, operation)
        run.before = list(before)
        run.started_at = run.started_at or cluster.clock()
    cluster.events.publish("operations", operation.id)


def record_run_tasks(cluster: Cluster, operation: Operation, tasks: Data, progress: float) -> None:
    with cluster.store.write() as session:
        held, run = load_claimed_run(session, operation)
        held.progress = progress
        run.tasks = list(tasks)
    cluster.events.publish("operations", operation.id)


def record_run_checks(cluster: Cluster, operation: Operation, checks: Data) -> None:
    """Records the current results of the checks during the verification."""
    with cluster.store.write() as session:
        _, run = load_claimed_run(session, operation)
        run.checks = list(checks)
    cluster.events.publish("operations", operation.id)


def record_run_end(
    cluster: Cluster,
    operation: Operation,
    verdict: RepairVerdict,
    rc: int | None,
    checks: Data,
    code: str = "",
    data: dict[str, Any] | None = None,
) -> None:
    """Ends run and operation and frees the targets. Raises Conflict if the fence is stale.

    `code` and `data` are the reason of the operation's failure. Without them it is the verdict with the host.
    """
    now = cluster.clock()
    with cluster.store.write() as session:
        _, run = load_claimed_run(session, operation)
        if verdict in GOOD_VERDICTS:
            finish_operation(session, operation.id, operation.fence, now)
        else:
            why = {"host": run.host} if data is None else data
            fail_operation(
                session, operation.id, operation.fence, now, code or FAILURE_CODES.get(verdict, ""), why
            )
        run.playbook_rc, run.checks = rc, list(checks)
        end_run(session, requester_of(session, run), run, verdict, now)
    cluster.events.publish("operations", operation.id)


def requester_of(session: Session, run: RepairRun) -> Actor:
    """The person who requested the run; for a run of the console, the user who was signed in there."""
    person = session.get_one(User, run.requested_by)
    return Actor(
        person.id, run.console_user or person.name, True, CONSOLE_ADDRESS if run.console_user else ""
    )
