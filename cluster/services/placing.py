"""What placement looks at, read from the rows: scheduler, queue page and estimate see the same."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import func, select
from sqlalchemy.orm import Session, joinedload

from cluster.domain.nodes import in_state_since, state_of
from cluster.domain.placement import Decision, Head, NodeUnits, Quota, Running, place
from cluster.domain.states import (
    AttemptState,
    DatasetState,
    Desired,
    EnvironmentState,
    JobState,
    UnitKind,
    UnitState,
    WorkspaceState,
)
from cluster.domain.terms import starts_at, workspace_state
from cluster.domain.waiting import (
    DatasetFailed,
    DatasetNotReady,
    EnvironmentFailed,
    EnvironmentNotReady,
    Reason,
    WorkspaceExpired,
    WorkspaceNotStarted,
)
from cluster.services.context import Cluster
from cluster.services.environments import default_environment
from cluster.services.sweep_limits import limited_by_sweep
from cluster.store.datasets import Dataset
from cluster.store.jobs import Attempt, Job
from cluster.store.nodes import Allocation, Node
from cluster.store.operations import Environment, Operation
from cluster.store.workspaces import Workspace

MOST_HEADS = 1000


@dataclass(frozen=True)
class Board:
    """The arguments of `cluster.domain.placement.place`."""

    heads: Sequence[Head]
    nodes: Sequence[NodeUnits]
    quotas: dict[int, Quota]
    running: Sequence[Running]
    now: datetime
    spread: bool
    """Whether the executor can run one job on several nodes."""

    def decide(
        self, heads: Sequence[Head] | None = None, quotas: dict[int, Quota] | None = None
    ) -> list[Decision]:
        """`heads` and `quotas` instead of the own ones, for a job that is only asked about."""
        return place(
            self.heads if heads is None else heads,
            self.nodes,
            self.quotas if quotas is None else quotas,
            self.running,
            self.now,
            self.spread,
        )


def read_board(cluster: Cluster, session: Session) -> Board:
    now = cluster.clock()
    jobs = read_waiting(session)
    workspaces = {job.workspace_id: job.workspace for job in jobs}
    environment = default_environment(session)
    building = building_reason(session, environment)
    limited = limited_by_sweep(session, jobs)
    heads = [
        Head(
            job.id,
            job.workspace_id,
            job.units,
            job.priority,
            job.position,
            term_reason(cluster, job.workspace)
            or dataset_reason(session, job.dataset)
            or building
            or limited.get(job.id),
        )
        for job in jobs
    ]
    return Board(
        heads,
        read_nodes(session, now),
        read_quotas(session, workspaces),
        read_running(session, now),
        now,
        spread=cluster.settings.executor == "simulated",
    )


def read_waiting(session: Session) -> list[Job]:
    query = (
        select(Job)
        .where(Job.state == JobState.WAITING, Job.desired == Desired.RUN)
        .options(joinedload(Job.workspace), joinedload(Job.dataset))
    )
    return list(session.scalars(query.order_by(Job.priority.desc(), Job.id).limit(MOST_HEADS)))


def term_reason(cluster: Cluster, workspace: Workspace) -> Reason | None:
    zone = cluster.settings.zone
    state = workspace_state(workspace, cluster.clock(), zone)
    if state is WorkspaceState.SCHEDULED:
        return WorkspaceNotStarted(workspace.name, starts_at(workspace, zone).date())
    if state is WorkspaceState.EXPIRED:
        ended = workspace.ended_at.astimezone(zone).date() if workspace.ended_at else workspace.ends_on
        return WorkspaceExpired(workspace.name, ended)
    return None


def dataset_reason(session: Session, dataset: Dataset | None) -> Reason | None:
    if dataset is None or dataset.state is DatasetState.READY:
        return None
    if dataset.state is DatasetState.FAILED or dataset.deleted_at is not None:
        return DatasetFailed(dataset.name)
    operation = session.get(Operation, dataset.operation_id) if dataset.operation_id else None
    return DatasetNotReady(dataset.name, operation.progress if operation else 0.0)


def building_reason(session: Session, environment: Environment | None) -> Reason | None:
    """Every job of the process executor runs in the default environment."""
    if environment is None:
        return EnvironmentNotReady("default")
    if environment.state is EnvironmentState.READY:
        return None
    if environment.state is EnvironmentState.FAILED:
        return EnvironmentFailed(environment.name, environment.operation_id)
    operation = session.get(Operation, environment.operation_id) if environment.operation_id else None
    if operation is None:
        return EnvironmentNotReady(environment.name)
    now = next((step["code"] for step in operation.steps if step["state"] == "now"), "")
    return EnvironmentNotReady(environment.name, operation.progress, now, operation.id)


def read_nodes(session: Session, now: datetime) -> list[NodeUnits]:
    held = set(session.scalars(select(Allocation.unit_id).where(Allocation.ended_at.is_(None))))
    nodes = session.scalars(select(Node).options(joinedload(Node.units)).order_by(Node.id)).unique()
    return [units_of(node, held, now) for node in nodes]


def units_of(node: Node, held: set[int], now: datetime) -> NodeUnits:
    working = [unit for unit in node.units if unit.state is UnitState.OK]
    free = tuple(unit.id for unit in working if unit.id not in held)
    kind = working[0].kind if working else UnitKind.GPU
    return NodeUnits(
        node.id,
        node.name,
        state_of(node, now),
        kind,
        free,
        len(working),
        node.fabric,
        {unit.id: unit.island for unit in working},
        in_state_since(node, now),
    )


def read_quotas(session: Session, workspaces: dict[int, Workspace]) -> dict[int, Quota]:
    used = read_use(session)
    return {key: Quota(workspace.units, used.get(key, 0)) for key, workspace in workspaces.items()}


def read_use(session: Session) -> dict[int, int]:
    """Units that living attempts hold, by workspace."""
    query = (
        select(Job.workspace_id, func.count(Allocation.id))
        .join(Attempt, Attempt.job_id == Job.id)
        .join(Allocation, Allocation.attempt_id == Attempt.id)
        .where(Allocation.ended_at.is_(None))
        .group_by(Job.workspace_id)
    )
    return {row[0]: row[1] for row in session.execute(query)}


def read_running(session: Session, now: datetime) -> list[Running]:
    """Living attempts, with the expected end where the time limit or an earlier job tells it."""
    attempts = session.scalars(
        select(Attempt).where(Attempt.state != AttemptState.ENDED).options(joinedload(Attempt.job))
    ).all()
    usual = read_usual_seconds(session, {attempt.job.training_id for attempt in attempts})
    return [
        Running(
            attempt.job_id,
            attempt.job.workspace_id,
            attempt.node_id,
            attempt.job.units,
            ends_at(attempt, usual, now),
        )
        for attempt in attempts
    ]


def ends_at(attempt: Attempt, usual: dict[tuple[int, int], float], now: datetime) -> datetime | None:
    """None where nothing is known. An estimate that has passed is no longer one."""
    begun = attempt.started_at or attempt.created_at
    told = (usual.get((attempt.job.training_id, attempt.job.units)), attempt.job.time_limit_seconds)
    ends = [begun + timedelta(seconds=seconds) for seconds in told if seconds is not None]
    return min((end for end in ends if end > now), default=None)


def read_usual_seconds(session: Session, training_ids: set[int]) -> dict[tuple[int, int], float]:
    """How long the newest finished job of a training ran, by (training, units)."""
    newest = (
        select(func.max(Job.id))
        .where(Job.training_id.in_(training_ids), Job.state == JobState.FINISHED, Job.started_at.is_not(None))
        .group_by(Job.training_id, Job.units)
    )
    jobs = session.scalars(select(Job).where(Job.id.in_(newest)))
    return {
        (job.training_id, job.units): (job.ended_at - job.started_at).total_seconds()
        for job in jobs
        if job.ended_at and job.started_at
    }
