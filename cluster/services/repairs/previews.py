"""Previews a repair: targets, jobs and operations it would disturb, and how long it takes. Nothing is written."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import select
from sqlalchemy.orm import Session, joinedload

from cluster.domain.people.actor import Actor
from cluster.domain.people.permissions import require_administrator
from cluster.domain.repairs.definition import EffectOnJobs, Repair, RepairTargets, typical_seconds
from cluster.domain.repairs.run_matrix import RepairVerdict
from cluster.domain.states import OperationKind, OperationState
from cluster.services.context import Cluster
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
from cluster.store.jobs import Job
from cluster.store.operations import Operation
from cluster.store.repairs import RepairRun

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
        if run.ended_at and run.started_at and run.verdict is RepairVerdict.VERIFIED and not run.is_dry_run
    ]


def preview_repair(cluster: Cluster, actor: Actor, name: str, node_ids: Sequence[int] = ()) -> RepairPreview:
    """Changes nothing. Raises Forbidden, NotFound, CatalogueInvalid."""
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
