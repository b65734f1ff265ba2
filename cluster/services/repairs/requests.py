"""Requests and cancels repairs: what the preview showed is what runs, one run at a time per target."""

import hashlib
import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import select, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session, joinedload

from cluster.domain.errors import Conflict, NotFound
from cluster.domain.people.actor import Actor
from cluster.domain.people.permissions import require_administrator, require_scope
from cluster.domain.repairs.definition import (
    EffectOnJobs,
    Repair,
    RepairTargets,
    check_dry_run,
    check_inventory_host,
    check_nodes_chosen,
    check_nodes_drained,
    check_reason,
    check_typed_name,
    typical_seconds,
)
from cluster.domain.repairs.run_matrix import RepairVerdict
from cluster.domain.states import OperationKind, OperationState
from cluster.services.context import Cluster
from cluster.services.operations.execution import end_operation
from cluster.services.operations.requests import enqueue_operation, request_operation
from cluster.services.repairs.catalogue import CatalogueEntry, find_catalogue_entry, list_offered_repairs
from cluster.services.repairs.reclaimable_files import ReclaimablePath, list_reclaimable_paths
from cluster.services.repairs.targets import (
    WITH_PEOPLE,
    RepairTarget,
    choose_targets,
    find_locking_run,
    list_jobs_on_targets,
    list_node_targets,
    list_undrained_hosts,
    master_target,
)
from cluster.store.audit import add_audit_entry
from cluster.store.jobs import Job
from cluster.store.nodes import Node
from cluster.store.operations import Operation
from cluster.store.repairs import RepairLock, RepairRun

LAST_RUNS = 3


@dataclass(frozen=True)
class RepairSummary:
    """One line of the catalogue."""

    repair: Repair
    last: RepairRun | None
    seconds: float | None
    """How long it usually takes, by its last runs."""


@dataclass(frozen=True)
class RepairPreview:
    """What the repair would do, read at `read_at`; `etag` changes with everything that the person decides by."""

    repair: Repair
    digest: str
    targets: Sequence[RepairTarget]
    """Where it would work; empty where a person has yet to choose nodes."""
    choices: Sequence[RepairTarget]
    """The nodes to choose from; empty for a repair of the master."""
    read_at: datetime
    last_runs: Sequence[RepairRun]
    seconds: float | None
    jobs: Sequence[Job]
    """Those that stop or wait; empty where they go on."""
    jobs_there: int
    operations: Sequence[Operation]
    """Those under way that begin anew."""
    leftovers: Sequence[ReclaimablePath]
    gentler: Sequence[RepairSummary]
    under_way: RepairRun | None
    is_first: bool
    """Whether none has run here yet: Ansible may have to be prepared before."""
    busy: Sequence[str]
    """Nodes that would have to be drained and empty first, and are not."""
    etag: str

    @property
    def host(self) -> str:
        """What people call the targets, all in one line."""
        return ", ".join(target.host for target in self.targets)


def list_repair_summaries(cluster: Cluster, actor: Actor) -> list[RepairSummary]:
    require_administrator(actor)
    entries = list_offered_repairs(cluster)
    with cluster.store.read() as session:
        return [summarize_repair(session, entry.repair) for entry in entries.values()]


def summarize_repair(session: Session, repair: Repair) -> RepairSummary:
    runs = read_last_runs(session, repair.name)
    return RepairSummary(repair, runs[0] if runs else None, typical_seconds(run_durations(runs)))


def read_last_runs(session: Session, name: str, limit: int = LAST_RUNS) -> list[RepairRun]:
    """Ended ones, newest first."""
    query = select(RepairRun).where(RepairRun.name == name, RepairRun.ended_at.is_not(None))
    return list(session.scalars(query.options(*WITH_PEOPLE).order_by(RepairRun.id.desc()).limit(limit)))


def run_durations(runs: Sequence[RepairRun]) -> list[float]:
    return [
        (run.ended_at - run.started_at).total_seconds()
        for run in runs
        if run.ended_at and run.started_at and run.verdict is RepairVerdict.VERIFIED and not run.is_look_ahead
    ]


def preview_repair(cluster: Cluster, actor: Actor, name: str, node_ids: Sequence[int] = ()) -> RepairPreview:
    """Changes nothing. Raises Forbidden, NotFound, CatalogueBroken."""
    require_administrator(actor)
    entry = find_catalogue_entry(cluster, name)
    repair = entry.repair
    leftovers = list_reclaimable_paths(cluster) if repair.lists == "leftovers" else []
    with cluster.store.read() as session:
        choices = list_node_targets(cluster, session) if repair.targets is RepairTargets.NODES else []
        targets = choose_targets(choices, node_ids) if choices else [master_target(cluster, session)]
        runs = read_last_runs(session, name)
        there = list_jobs_on_targets(session, [target.node_id for target in targets])
        operations = list_running_operations(session) if repair.restarts_operations else []
        under_way = find_locking_run(session, targets)
        is_first = (
            session.scalar(select(RepairRun.id).where(RepairRun.started_at.is_not(None)).limit(1)) is None
        )
        gentler = [
            summarize_repair(session, find_catalogue_entry(cluster, each).repair) for each in repair.gentler
        ]
        busy = list_undrained_hosts(session, targets) if repair.needs_drained_nodes else []
    jobs = there if repair.jobs is not EffectOnJobs.GO_ON else []
    return RepairPreview(
        repair=repair,
        digest=entry.digest,
        targets=targets,
        choices=choices,
        read_at=cluster.clock(),
        last_runs=runs,
        seconds=typical_seconds(run_durations(runs)),
        jobs=jobs,
        jobs_there=len(there),
        operations=operations,
        leftovers=leftovers,
        gentler=gentler,
        under_way=under_way,
        is_first=is_first,
        busy=busy,
        etag=preview_etag(entry, targets, jobs, operations, leftovers, under_way, busy),
    )


def preview_etag(
    entry: CatalogueEntry,
    targets: Sequence[RepairTarget],
    jobs: Sequence[Job],
    operations: Sequence[Operation],
    leftovers: Sequence[ReclaimablePath],
    under_way: RepairRun | None,
    busy: Sequence[str],
) -> str:
    """A digest of everything that the preview shows; a request with another digest is refused."""
    seen = [
        entry.digest,
        [target.host for target in targets],
        [job.id for job in jobs],
        [operation.id for operation in operations],
        [[str(leftover.path), leftover.size] for leftover in leftovers],
        under_way.id if under_way else None,
        list(busy),
    ]
    return hashlib.sha256(json.dumps(seen).encode()).hexdigest()[:32]


def list_running_operations(session: Session) -> list[Operation]:
    query = select(Operation).where(
        Operation.state == OperationState.RUNNING, Operation.kind != OperationKind.REPAIR
    )
    return list(session.scalars(query.options(joinedload(Operation.requester)).order_by(Operation.id)))


def request_repair(
    cluster: Cluster,
    actor: Actor,
    name: str,
    etag: str,
    reason: str,
    typed: str = "",
    console_user: str | None = None,
    node_ids: Sequence[int] = (),
    is_look_ahead: bool = False,
) -> RepairRun:
    """Raises Refused, Forbidden, NotFound, Conflict where the forecast has changed or another one runs there."""
    require_administrator(actor)
    require_scope(actor, "repair")
    seen = preview_repair(cluster, actor, name, node_ids)
    check_nodes_chosen(seen.repair, seen.targets)
    reason = check_reason(reason)
    check_dry_run(seen.repair, is_look_ahead)
    if not is_look_ahead:
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
        is_look_ahead=is_look_ahead,
        digest=seen.digest,
        reason=reason,
        asked_by=actor.user_id,
        console_user=console_user,
        asked_at=now,
        listed=[[str(leftover.path), leftover.size] for leftover in seen.leftovers],
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
            at=under_way.asked_at.isoformat(),
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
    """Newest first."""
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
    """The first time the playbook is asked to end, the second time it is ended. Raises Conflict once it is over.

    One that was given up is closed: nobody works on it, and its targets are free for a new forecast.
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
        run.is_forced = run.cancel_asked_at is not None
        run.cancel_asked_at = run.cancel_asked_at or now
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
    run.verdict, run.ended_at = RepairVerdict.BROKEN, now
    release_repair_locks(session, run.id, now)
    add_audit_entry(
        session, now, actor, "repair.ended", run.id, "failed",
        name=run.name, host=run.host, verdict=RepairVerdict.BROKEN.value,
    )  # fmt: skip


def release_repair_locks(session: Session, run_id: int, now: datetime) -> None:
    held = update(RepairLock).where(RepairLock.run_id == run_id, RepairLock.released_at.is_(None))
    session.execute(held.values(released_at=now))
