"""Reads the metrics of the installation for Prometheus with a fixed number of statements,
however long the queue is.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from math import inf
from typing import Any

from sqlalchemy import and_, func, literal, or_, select
from sqlalchemy.orm import Session

from cluster.domain.kubernetes.status import KubernetesStatus, parse_kubernetes_status
from cluster.domain.nodes.gpu_load import GpuLoad, parse_gpu_loads
from cluster.domain.nodes.node_state import node_state_of
from cluster.domain.states import JobState, NodeState, OperationState, UnitState
from cluster.domain.storage.disk_reserve import reserve_of
from cluster.services.alerts.scheduler_stats import (
    SCHEDULER_STATS_FACT,
    SchedulerStats,
    parse_scheduler_stats,
)
from cluster.services.audit.seals import LAST_CHECK_FACT
from cluster.services.backups.manifests import last_verified_backup, read_backups
from cluster.services.context import Cluster
from cluster.services.jobs.state_counts import has_state, read_oldest_submission
from cluster.services.kubernetes.status import KUBERNETES_STATUS_FACT
from cluster.services.storage.disk_space import read_disk_usage
from cluster.store.facts import InstallationFact
from cluster.store.jobs import IS_LIVE, Job
from cluster.store.nodes import IS_NODE_KNOWN, Allocation, Node, Unit
from cluster.store.operations import Operation
from cluster.store.queue import QueueTotal

MAX_HELD_COUNTED = 100_000
STARTED_STATES = (JobState.STARTING, JobState.RUNNING, JobState.STOPPING)
OPEN_OPERATIONS = (OperationState.REQUESTED, OperationState.RUNNING, OperationState.INTERRUPTED)
UNIT_CONDITIONS = ("free", "booked", "broken", "lost", "closed")
"""The conditions of units. `lost`: the node does not answer; `closed`: it is drained or cannot start anything."""
CONDITION_OF_NODE = {
    NodeState.READY: "free",
    NodeState.UNREACHABLE: "lost",
    NodeState.LOST: "lost",
}


@dataclass(frozen=True)
class ClusterMetrics:
    """The metrics. Ages and times are seconds, `inf` if there was none. Sizes are bytes."""

    version: str
    jobs: Mapping[str, int]
    """The number of jobs by state. `waiting` is as the scheduler last counted it, without held ones."""
    oldest_waiting_seconds: float
    """The wait of the oldest job that is not held."""
    units: Mapping[str, int]
    nodes: Mapping[str, int]
    operations: Mapping[str, int]
    backup_age: float
    """The age of the newest verified backup."""
    audit_age: float
    is_audit_intact: bool
    scheduler_age: float
    scheduler: SchedulerStats | None
    disk_free: int
    disk_bytes: int
    disk_reserve: int
    gpu_loads: Mapping[tuple[str, str], GpuLoad] = field(default_factory=dict)
    """The newest loads of GPUs by node and UUID, without those of nodes that do not answer."""
    kubernetes: KubernetesStatus | None = None
    """The status as last read. None if jobs do not run on Kubernetes."""


def read_metrics(cluster: Cluster) -> ClusterMetrics:
    now = cluster.clock()
    disk = read_disk_usage(cluster.settings.state_dir)
    with cluster.store.read() as session:
        facts = {
            fact.name: fact
            for fact in session.scalars(
                select(InstallationFact).where(
                    InstallationFact.name.in_((SCHEDULER_STATS_FACT, LAST_CHECK_FACT, KUBERNETES_STATUS_FACT))
                )
            )
        }
        rows = session.scalars(select(Node).where(IS_NODE_KNOWN)).all()
        nodes = {node.id: node_state_of(node, now) for node in rows}
        gpu_loads = {
            (node.name, identity): load
            for node in rows
            if CONDITION_OF_NODE.get(nodes[node.id]) != "lost"
            for identity, load in parse_gpu_loads(node.facts).items()
        }
        jobs, units = count_jobs(session), count_units(session, nodes)
        operations = count_operations(session)
        oldest = read_oldest_submission(session, Job.held_at.is_(None))
    proven = last_verified_backup(read_backups(cluster.settings.backups))
    checked: dict[str, Any] = facts[LAST_CHECK_FACT].value if LAST_CHECK_FACT in facts else {}
    pulse = parse_scheduler_stats(facts.get(SCHEDULER_STATS_FACT))
    by_state = Counter(nodes.values())
    return ClusterMetrics(
        version=cluster.settings.version,
        jobs=jobs,
        oldest_waiting_seconds=seconds_since(oldest, now) if oldest else 0.0,
        units=units,
        nodes={state.value: by_state[state] for state in NodeState},
        operations=operations,
        backup_age=seconds_since(proven.made_at if proven else None, now),
        audit_age=seconds_since(datetime.fromisoformat(checked["at"]) if checked else None, now),
        is_audit_intact=bool(checked) and not checked.get("code"),
        scheduler_age=seconds_since(pulse.at if pulse else None, now),
        scheduler=pulse,
        disk_free=disk.free,
        disk_bytes=disk.total,
        disk_reserve=reserve_of(disk.total, cluster.settings.disk_reserve_bytes),
        gpu_loads=gpu_loads,
        kubernetes=parse_kubernetes_status(facts[KUBERNETES_STATUS_FACT].value)
        if KUBERNETES_STATUS_FACT in facts
        else None,
    )


def seconds_since(at: datetime | None, now: datetime) -> float:
    return max(0.0, (now - at).total_seconds()) if at else inf


def count_jobs(session: Session) -> dict[str, int]:
    """Sums waiting jobs from the scheduler's queue totals; jobs that hold units are few and are counted."""
    held = (
        select(literal(1))
        .where(has_state(JobState.WAITING), Job.held_at.is_not(None))
        .limit(MAX_HELD_COUNTED)
    )
    waiting, kept = session.execute(
        select(
            select(func.coalesce(func.sum(QueueTotal.jobs), 0)).scalar_subquery(),
            select(func.count()).select_from(held.subquery()).scalar_subquery(),
        )
    ).one()
    working = or_(*(has_state(state) for state in STARTED_STATES))
    query = select(Job.state, func.count()).where(IS_LIVE, working).group_by(Job.state)
    at_work = {state: count for state, count in session.execute(query)}  # noqa: C416
    found = {state.value: at_work.get(state, 0) for state in STARTED_STATES}
    return {"waiting": int(waiting), "held": kept, **found}


def count_units(session: Session, nodes: Mapping[int, NodeState]) -> dict[str, int]:
    """A unit counts as booked if an attempt holds it. Otherwise its own state counts, or that of its node if the unit
    works.
    """
    living = and_(Allocation.unit_id == Unit.id, Allocation.ended_at.is_(None))
    is_held = Allocation.id.is_not(None)
    query = (
        select(Unit.node_id, Unit.state, is_held, func.count())
        .join(Allocation, living, isouter=True)
        .where(or_(Unit.state != UnitState.GONE, is_held))
        .group_by(Unit.node_id, Unit.state, is_held)
    )
    found = dict.fromkeys(UNIT_CONDITIONS, 0)
    for node_id, state, held, count in session.execute(query):
        if node_id not in nodes:
            continue  # The unit was reported after the nodes were read. The next reading includes it.
        broken = "broken" if state is not UnitState.OK else CONDITION_OF_NODE.get(nodes[node_id], "closed")
        found["booked" if held else broken] += count
    return found


def count_operations(session: Session) -> dict[str, int]:
    query = (
        select(Operation.state, func.count())
        .where(Operation.state.in_(OPEN_OPERATIONS))
        .group_by(Operation.state)
    )
    found = {state: count for state, count in session.execute(query)}  # noqa: C416
    return {state.value: found.get(state, 0) for state in OPEN_OPERATIONS}
