"""Reads capacity for placement: the free units of nodes, the quotas of workspaces, and the running jobs with their
expected ends."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Row, and_, func, select
from sqlalchemy.orm import Session

from cluster.domain.kubernetes.status import KubernetesStatus
from cluster.domain.nodes.node_state import node_state_of, node_state_since
from cluster.domain.placement.types import NodeUnits, RunningOnNode, WorkspaceQuota
from cluster.domain.queue.start_estimate import EstimateSource
from cluster.domain.states import UnitKind, UnitState
from cluster.services.context import Cluster
from cluster.services.kubernetes.status import load_kubernetes_status, node_closed_reason
from cluster.services.placement.past_durations import (
    DurationRange,
    ExpectedDuration,
    JobKind,
    expected_duration,
    read_durations,
)
from cluster.services.placement.queue_heads import JOBS, WORKSPACES
from cluster.store.jobs import Attempt, Job
from cluster.store.nodes import IS_NODE_KNOWN, Allocation, Node, Unit
from cluster.store.workspaces import Workspace

WORKSPACE_COLUMNS = (
    "id",
    "name",
    "units",
    "starts_on",
    "ends_on",
    "ended_at",
    "last_turn_at",
    "last_turn_attempt_id",
    "storage_limit_bytes",
    "storage_used_bytes",
    "storage_measured_at",
)


Columns = Row[*tuple[Any, ...]]
NODES = (
    select(
        Node.id,
        Node.name,
        Node.fabric,
        Node.heartbeat_at,
        Node.has_executor,
        Node.draining_since,
        Node.lost_at,
        Node.booted_at,
    )
    .where(IS_NODE_KNOWN)
    .order_by(Node.id)
)
HOLDS_UNIT = and_(Allocation.unit_id == Unit.id, Allocation.ended_at.is_(None))
UNITS = (
    select(Unit.node_id, Unit.id, Unit.kind, Unit.island, Allocation.id)
    .outerjoin(Allocation, HOLDS_UNIT)
    .where(Unit.state == UnitState.OK)
    .order_by(Unit.node_id, Unit.position)
)
QUOTAS = select(*(WORKSPACES.c[name] for name in WORKSPACE_COLUMNS))
RUNNING = (
    select(
        JOBS.c.id, JOBS.c.workspace_id, JOBS.c.training_id, JOBS.c.units, JOBS.c.time_limit_seconds,
        Unit.node_id, func.count(Unit.id).label("held"), Attempt.started_at, Attempt.created_at,
        Attempt.expected_end_at, Attempt.earliest_end_at, Attempt.latest_end_at,
    )
    .join_from(Allocation, Attempt, Attempt.id == Allocation.attempt_id)
    .join(JOBS, JOBS.c.id == Attempt.job_id)
    .join(Unit, Unit.id == Allocation.unit_id)
    .where(Allocation.ended_at.is_(None))
    .group_by(JOBS.c.id, Attempt.id, Unit.node_id)
    .order_by(Attempt.id, Unit.node_id)
)  # fmt: skip
"""The statements are built once, because every decision of the scheduler executes them."""


@dataclass
class WorkingUnits:
    """The working units of one node, in the order in which they are given out."""

    kind: UnitKind = UnitKind.GPU
    free: list[int] = field(default_factory=list)
    islands: dict[int, str | None] = field(default_factory=dict)


def read_node_units(session: Session, now: datetime) -> list[NodeUnits]:
    """Reads columns alone, because there are thousands of units, and a node's facts are long."""
    working: dict[int, WorkingUnits] = defaultdict(WorkingUnits)
    for node_id, unit_id, kind, island, allocation_id in session.execute(UNITS).all():
        there = working[node_id]
        if not there.islands:
            there.kind = kind
        there.islands[unit_id] = island
        if allocation_id is None:
            there.free.append(unit_id)
    nodes, standing = session.execute(NODES), load_kubernetes_status(session)
    return [build_node_units(node, working[node.id], standing, now) for node in nodes]


def build_node_units(
    node: Columns, working: WorkingUnits, standing: KubernetesStatus | None, now: datetime
) -> NodeUnits:
    state = node_state_of(node, now)
    return NodeUnits(
        node.id,
        node.name,
        state,
        working.kind,
        tuple(working.free),
        len(working.islands),
        node.fabric,
        working.islands,
        node_state_since(node, now),
        node_closed_reason(standing, node.name, state),
    )


def build_quotas(
    workspaces: Iterable[Workspace | Columns], running: Iterable[RunningOnNode]
) -> dict[int, WorkspaceQuota]:
    used: Counter[int] = Counter()
    for run in running:
        used[run.workspace_id] += run.units
    return {
        place.id: WorkspaceQuota(place.units, used[place.id], place.last_turn_at, place.last_turn_attempt_id)
        for place in workspaces
    }


def read_units_in_use(session: Session) -> dict[int, int]:
    """The number of units that live attempts hold, by workspace."""
    query = (
        select(Job.workspace_id, func.count(Allocation.id))
        .join(Attempt, Attempt.job_id == Job.id)
        .join(Allocation, Allocation.attempt_id == Attempt.id)
        .where(Allocation.ended_at.is_(None))
        .group_by(Job.workspace_id)
    )
    return {row[0]: row[1] for row in session.execute(query)}


def read_running_on_nodes(session: Session, now: datetime) -> list[RunningOnNode]:
    """Reads the units that live attempts hold on each node, with the expected end if it is known."""
    return read_runs_and_durations(session, now)[0]


def read_runs_and_durations(
    session: Session, now: datetime
) -> tuple[list[RunningOnNode], dict[JobKind, DurationRange | None]]:
    """Returns the runs, and the durations of the kinds that run; None for a kind of which no run has finished."""
    rows = session.execute(RUNNING).all()
    one_of_each = {(row.training_id, row.units): row.id for row in rows}
    spans = dict.fromkeys(one_of_each) | read_durations(session, one_of_each.values())
    return [build_running_on_node(row, spans[row.training_id, row.units], now) for row in rows], spans


def build_running_on_node(row: Columns, spans: DurationRange | None, now: datetime) -> RunningOnNode:
    """Prefers the job's own progress over durations of earlier runs, and these over the time limit; an estimate that
    has passed is dropped."""
    if spans is None and row.time_limit_seconds is None and row.expected_end_at is None:
        return RunningOnNode(row.id, row.workspace_id, row.node_id, row.held)
    begun = row.started_at or row.created_at
    for expected in expected_durations(row, spans, begun):
        ends_at = moment_after(expected.seconds, begun, now) or moment_after(expected.most, begun, now)
        if ends_at is not None:
            return RunningOnNode(
                row.id,
                row.workspace_id,
                row.node_id,
                row.held,
                ends_at,
                moment_after(expected.least, begun, now),
                moment_after(expected.most, begun, now),
                expected.source,
            )
    return RunningOnNode(row.id, row.workspace_id, row.node_id, row.held)


def expected_durations(
    row: Columns, spans: DurationRange | None, begun: datetime
) -> Iterator[ExpectedDuration]:
    """The sources of an estimate, the most reliable one first."""
    limit = row.time_limit_seconds
    if own := duration_from_progress(row, begun):
        yield expected_duration(own, limit, EstimateSource.PROGRESS)
    if spans is not None:
        yield expected_duration(spans, limit)
    if limit is not None:
        yield expected_duration(None, limit)


def moment_after(seconds: float | None, begun: datetime, now: datetime) -> datetime | None:
    """Returns None for a moment that has passed."""
    end = begun + timedelta(seconds=seconds) if seconds is not None else None
    return end if end is not None and end > now else None


def duration_from_progress(row: Columns, begun: datetime) -> DurationRange | None:
    """Returns how many seconds the run will have taken at its end if its pace stays the same."""
    ends = (row.earliest_end_at, row.expected_end_at, row.latest_end_at)
    if None in ends:
        return None
    return DurationRange(*((end - begun).total_seconds() for end in ends))


@dataclass(frozen=True)
class PlacementContext:
    """The capacity on which all jobs of a snapshot are placed: nodes, quotas and running jobs at one moment."""

    now: datetime
    can_span_nodes: bool
    workspaces: dict[int, Row[*tuple[Any, ...]]]
    nodes: list[NodeUnits]
    quotas: dict[int, WorkspaceQuota]
    running: list[RunningOnNode]
    durations: Mapping[JobKind, DurationRange | None]
    """The past durations of the kinds of jobs that run."""


def count_free_units(nodes: Collection[NodeUnits]) -> int:
    """Counts the free units of nodes that take jobs."""
    return sum(len(node.free) for node in nodes if node.takes_jobs)


def read_placement_context(cluster: Cluster, session: Session) -> PlacementContext:
    now, spreads = cluster.clock(), cluster.settings.executor.capabilities.spreads_over_nodes
    workspaces = {row.id: row for row in session.execute(QUOTAS)}
    nodes, (running, durations) = read_node_units(session, now), read_runs_and_durations(session, now)
    quotas = build_quotas(workspaces.values(), running)
    return PlacementContext(now, spreads, workspaces, nodes, quotas, running, durations)
