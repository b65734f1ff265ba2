"""Reads capacity for placement: the free units of nodes, the quotas of workspaces, and the running jobs with their
expected ends."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Row, func, select
from sqlalchemy.orm import Session

from cluster.domain.kubernetes.status import KubernetesStatus
from cluster.domain.nodes.node_state import node_state_of, node_state_since
from cluster.domain.placement.types import NodeUnits, RunningOnNode, WorkspaceQuota
from cluster.domain.queue.start_estimate import EstimateSource
from cluster.domain.states import UnitKind, UnitState
from cluster.services.context import Cluster
from cluster.services.kubernetes.status import load_kubernetes_status, node_closed_reason
from cluster.services.placement.past_durations import DurationRange, expected_duration, read_durations
from cluster.services.placement.queue_heads import JOBS, WORKSPACES
from cluster.store.jobs import Attempt, Job
from cluster.store.nodes import Allocation, Node, Unit
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
)


Columns = Row[*tuple[Any, ...]]
NODES = select(
    Node.id,
    Node.name,
    Node.fabric,
    Node.heartbeat_at,
    Node.has_executor,
    Node.draining_since,
    Node.lost_at,
    Node.booted_at,
).order_by(Node.id)


def read_node_units(session: Session, now: datetime) -> list[NodeUnits]:
    """Columns alone: there are thousands of units, and the facts of a node are long."""
    working: dict[int, list[Columns]] = defaultdict(list)
    held = set(session.scalars(select(Allocation.unit_id).where(Allocation.ended_at.is_(None))))
    units = select(Unit.id, Unit.node_id, Unit.kind, Unit.island).where(Unit.state == UnitState.OK)
    for unit in session.execute(units.order_by(Unit.node_id, Unit.position)):
        working[unit.node_id].append(unit)
    nodes, standing = session.execute(NODES), load_kubernetes_status(session)
    return [build_node_units(node, working[node.id], held, standing, now) for node in nodes]


def build_node_units(
    node: Columns, working: list[Columns], held: set[int], standing: KubernetesStatus | None, now: datetime
) -> NodeUnits:
    state = node_state_of(node, now)
    return NodeUnits(
        node.id,
        node.name,
        state,
        working[0].kind if working else UnitKind.GPU,
        tuple(unit.id for unit in working if unit.id not in held),
        len(working),
        node.fabric,
        {unit.id: unit.island for unit in working},
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
    """Units that living attempts hold, by workspace."""
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
    rows = session.execute(
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
    ).all()  # fmt: skip
    one_of_each = {(row.training_id, row.units): row.id for row in rows}
    spans = read_durations(session, one_of_each.values())
    return [build_running_on_node(row, spans.get((row.training_id, row.units)), now) for row in rows]


def build_running_on_node(row: Columns, spans: DurationRange | None, now: datetime) -> RunningOnNode:
    """Prefers the job's own progress over durations of earlier runs, and these over the time limit; an estimate that
    has passed is dropped."""
    begun, limit = row.started_at or row.created_at, row.time_limit_seconds

    def moment(seconds: float | None) -> datetime | None:
        end = begun + timedelta(seconds=seconds) if seconds is not None else None
        return end if end is not None and end > now else None

    told = (
        [expected_duration(own, limit, EstimateSource.PROGRESS)]
        if (own := duration_from_progress(row, begun))
        else []
    )
    for expected in (*told, expected_duration(spans, limit), expected_duration(None, limit)):
        ends_at = moment(expected.seconds) or moment(expected.most)
        if ends_at is not None:
            return RunningOnNode(
                row.id,
                row.workspace_id,
                row.node_id,
                row.held,
                ends_at,
                moment(expected.least),
                moment(expected.most),
                expected.source,
            )
    return RunningOnNode(row.id, row.workspace_id, row.node_id, row.held)


def duration_from_progress(row: Columns, begun: datetime) -> DurationRange | None:
    """How long the run will have taken at its end, at the pace at which it gets on."""
    ends = (row.earliest_end_at, row.expected_end_at, row.latest_end_at)
    if None in ends:
        return None
    return DurationRange(*((end - begun).total_seconds() for end in ends))


@dataclass(frozen=True)
class PlacementContext:
    """What all jobs of a snapshot are placed against: nodes, quotas and running jobs at one moment."""

    now: datetime
    can_span_nodes: bool
    workspaces: dict[int, Row[*tuple[Any, ...]]]
    nodes: list[NodeUnits]
    quotas: dict[int, WorkspaceQuota]
    running: list[RunningOnNode]


def count_free_units(nodes: Collection[NodeUnits]) -> int:
    """Free units of nodes that take jobs."""
    return sum(len(node.free) for node in nodes if node.takes_jobs)


def read_placement_context(cluster: Cluster, session: Session) -> PlacementContext:
    now, spreads = cluster.clock(), cluster.settings.executor.capabilities.spreads_over_nodes
    columns = select(*(WORKSPACES.c[name] for name in WORKSPACE_COLUMNS))
    workspaces = {row.id: row for row in session.execute(columns)}
    nodes, running = read_node_units(session, now), read_running_on_nodes(session, now)
    return PlacementContext(
        now, spreads, workspaces, nodes, build_quotas(workspaces.values(), running), running
    )
