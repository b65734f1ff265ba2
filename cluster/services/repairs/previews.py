"""Previews a repair: where it works, which jobs and operations it would disturb, and how long it takes.

The preview writes nothing.
"""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import select, union_all
from sqlalchemy.orm import Session, joinedload

from cluster.domain.errors import NotFound
from cluster.domain.people.actor import Actor
from cluster.domain.people.permissions import require_administrator
from cluster.domain.repairs.definition import EffectOnJobs, Repair, RepairTargets, typical_seconds
from cluster.domain.repairs.run_matrix import RepairVerdict
from cluster.domain.states import JobState, OperationKind, OperationState
from cluster.services.context import Cluster
from cluster.services.repairs.catalogue import CatalogueEntry, find_catalogue_entry, list_offered_repairs
from cluster.services.repairs.reclaimable_files import ReclaimablePath, list_reclaimable_paths
from cluster.store.jobs import Attempt, Job
from cluster.store.nodes import IS_NODE_KNOWN, Allocation, Node, Unit
from cluster.store.operations import Operation
from cluster.store.repairs import RepairLock, RepairRun

LAST_RUNS = 3
MASTER = "master"
RUNNING_STATES = (JobState.STARTING, JobState.RUNNING, JobState.STOPPING)
WITH_PEOPLE = (joinedload(RepairRun.requester), joinedload(RepairRun.operation))


@dataclass(frozen=True)
class RepairTarget:
    """One machine. `key` is locked while a repair works there; `host` is its name in the inventory."""

    key: str
    host: str
    node_id: int | None = None


@dataclass(frozen=True)
class RepairSummary:
    """One line of the catalogue."""

    repair: Repair
    last: RepairRun | None
    seconds: float | None
    """The usual duration, from its last runs."""


@dataclass(frozen=True)
class RepairPreview:
    """The effects of the repair, read at `read_at`. `etag` changes if anything changes on which a person's decision
    depends.
    """

    repair: Repair
    digest: str
    targets: Sequence[RepairTarget]
    """The machines on which it would work. Empty while a person has to choose nodes."""
    choices: Sequence[RepairTarget]
    """The nodes from which a person chooses. Empty for a repair of the master."""
    read_at: datetime
    last_runs: Sequence[RepairRun]
    seconds: float | None
    jobs: Sequence[Job]
    """The jobs that would stop or wait. Empty if they go on."""
    jobs_there: int
    operations: Sequence[Operation]
    """The running operations that would start again."""
    leftovers: Sequence[ReclaimablePath]
    gentler: Sequence[RepairSummary]
    under_way: RepairRun | None
    is_first: bool
    """The repair has never run here, so that Ansible may have to be installed first."""
    busy: Sequence[str]
    """The nodes that have to be drained and empty first, and are not."""
    etag: str

    @property
    def host(self) -> str:
        """The targets by the names that people use, all in one line."""
        return ", ".join(target.host for target in self.targets)


def list_repair_summaries(cluster: Cluster, actor: Actor) -> list[RepairSummary]:
    require_administrator(actor)
    entries = list_offered_repairs(cluster)
    with cluster.store.read() as session:
        return summarize_repairs(session, [entry.repair for entry in entries.values()])


def summarize_repairs(session: Session, repairs: Sequence[Repair]) -> list[RepairSummary]:
    last_runs = read_last_runs(session, [repair.name for repair in repairs])
    return [
        RepairSummary(repair, runs[0] if runs else None, typical_seconds(run_durations(runs)))
        for repair in repairs
        for runs in [last_runs.get(repair.name, [])]
    ]


def read_last_runs(session: Session, names: Sequence[str]) -> dict[str, list[RepairRun]]:
    """Ended ones by the name of their repair, newest first."""
    if not names:
        return {}
    newest = [
        select(RepairRun.id)
        .where(RepairRun.name == name, RepairRun.ended_at.is_not(None))
        .order_by(RepairRun.id.desc())
        .limit(LAST_RUNS)
        .subquery()
        for name in names
    ]
    ids = union_all(*(select(each.c.id) for each in newest))
    query = select(RepairRun).where(RepairRun.id.in_(ids)).order_by(RepairRun.id.desc())
    runs: dict[str, list[RepairRun]] = {}
    for run in session.scalars(query.options(*WITH_PEOPLE)):
        runs.setdefault(run.name, []).append(run)
    return runs


def run_durations(runs: Sequence[RepairRun]) -> list[float]:
    return [
        (run.ended_at - run.started_at).total_seconds()
        for run in runs
        if run.ended_at and run.started_at and run.verdict is RepairVerdict.VERIFIED and not run.is_dry_run
    ]


def preview_repair(cluster: Cluster, actor: Actor, name: str, node_ids: Sequence[int] = ()) -> RepairPreview:
    """Makes the preview and changes nothing. Raises Forbidden, NotFound, CatalogueInvalid."""
    require_administrator(actor)
    entry = find_catalogue_entry(cluster, name)
    repair = entry.repair
    leftovers = list_reclaimable_paths(cluster) if repair.lists == "leftovers" else []
    with cluster.store.read() as session:
        choices = list_node_targets(cluster, session) if repair.targets is RepairTargets.NODES else []
        targets = choose_targets(choices, node_ids) if choices else [master_target(cluster, session)]
        runs = read_last_runs(session, [name]).get(name, [])
        there = list_jobs_on_targets(session, [target.node_id for target in targets])
        operations = list_running_operations(session) if repair.restarts_operations else []
        under_way = find_locking_run(session, targets)
        is_first = (
            session.scalar(select(RepairRun.id).where(RepairRun.started_at.is_not(None)).limit(1)) is None
        )
        gentler = summarize_repairs(
            session, [find_catalogue_entry(cluster, each).repair for each in repair.gentler]
        )
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


def read_master_host(session: Session) -> str:
    """The master's name: the first node that reported. Before any has, it is `master`."""
    return session.scalar(select(Node.name).where(IS_NODE_KNOWN).order_by(Node.id).limit(1)) or MASTER


def master_target(cluster: Cluster, session: Session) -> RepairTarget:
    host = cluster.settings.master_node or read_master_host(session)
    return RepairTarget(MASTER, host, session.scalar(select(Node.id).where(Node.name == host)))


def list_node_targets(cluster: Cluster, session: Session) -> list[RepairTarget]:
    """Every node by its name. The one that is the master has the master's key."""
    master = cluster.settings.master_node or read_master_host(session)
    real = select(Node.id, Node.name).where(Node.simulated.is_(False), IS_NODE_KNOWN)
    rows = session.execute(real.order_by(Node.name))
    return [
        RepairTarget(MASTER if name == master else f"node-{number}", name, number) for number, name in rows
    ]


def choose_targets(choices: Sequence[RepairTarget], node_ids: Sequence[int]) -> list[RepairTarget]:
    """The chosen targets. A single choice is chosen already. Raises NotFound."""
    if not node_ids and len(choices) == 1:
        return list(choices)
    known = {target.node_id: target for target in choices}
    unknown = [number for number in node_ids if number not in known]
    if unknown:
        raise NotFound("node", unknown[0])
    return [known[number] for number in dict.fromkeys(node_ids)]


def list_jobs_on_targets(session: Session, node_ids: Sequence[int | None]) -> list[Job]:
    """The jobs that hold units on one of these nodes."""
    there = (
        select(Attempt.job_id)
        .join(Allocation, Allocation.attempt_id == Attempt.id)
        .join(Unit, Unit.id == Allocation.unit_id)
        .where(Allocation.ended_at.is_(None), Unit.node_id.in_([each for each in node_ids if each]))
    )
    loads = (joinedload(Job.user), joinedload(Job.workspace))
    query = select(Job).where(Job.state.in_(RUNNING_STATES), Job.id.in_(there))
    return list(session.scalars(query.options(*loads).order_by(Job.id)))


def list_undrained_hosts(session: Session, targets: Sequence[RepairTarget]) -> list[str]:
    """The names of hosts that are not drained or still have running jobs."""
    drained = select(Node.id).where(Node.draining_since.is_not(None))
    empty = {*session.scalars(drained)}
    return [
        target.host
        for target in targets
        if target.node_id not in empty or list_jobs_on_targets(session, [target.node_id])
    ]


def find_locking_run(session: Session, targets: Sequence[RepairTarget]) -> RepairRun | None:
    """The first run that has locked one of these targets."""
    holders = select(RepairLock.run_id).where(
        RepairLock.target.in_([target.key for target in targets]), RepairLock.released_at.is_(None)
    )
    query = select(RepairRun).where(RepairRun.id.in_(holders)).order_by(RepairRun.id).limit(1)
    return session.scalar(query.options(*WITH_PEOPLE))
