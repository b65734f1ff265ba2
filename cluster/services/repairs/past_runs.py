"""Reads ended runs of repairs: the last ones of each, how long they take, and the run that holds a target."""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import select, union_all
from sqlalchemy.orm import Session, joinedload

from cluster.domain.people.actor import Actor
from cluster.domain.people.permissions import require_administrator
from cluster.domain.repairs.definition import Repair, typical_seconds
from cluster.domain.repairs.run_matrix import RepairVerdict
from cluster.services.context import Cluster
from cluster.services.repairs.catalogue import list_offered_repairs
from cluster.services.repairs.repair_targets import (
    RepairTarget,
)
from cluster.store.repairs import RepairLock, RepairRun

LAST_RUNS = 3
WITH_PEOPLE = (joinedload(RepairRun.requester), joinedload(RepairRun.operation))


@dataclass(frozen=True)
class RepairSummary:
    """One line of the catalogue."""

    repair: Repair
    last: RepairRun | None
    seconds: float | None
    """The usual duration, from its last runs."""


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
    """The ended runs by the name of their repair, newest first."""
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


def find_locking_run(session: Session, targets: Sequence[RepairTarget]) -> RepairRun | None:
    """The first run that has locked one of these targets."""
    holders = select(RepairLock.run_id).where(
        RepairLock.target.in_([target.key for target in targets]), RepairLock.released_at.is_(None)
    )
    query = select(RepairRun).where(RepairRun.id.in_(holders)).order_by(RepairRun.id).limit(1)
    return session.scalar(query.options(*WITH_PEOPLE))


def has_no_run_started(session: Session) -> bool:
    started = select(RepairRun.id).where(RepairRun.started_at.is_not(None))
    return session.scalar(started.limit(1)) is None
