"""Reads what blocks jobs before units are considered: the term of the workspace and its limit of storage, the dataset,
the environment, a full disk, the retry backoff after interruptions, and the limit of a sweep."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol

from sqlalchemy import Row, func, select
from sqlalchemy.orm import Session

from cluster.domain.queue import retry_backoff
from cluster.domain.queue.reasons import (
    DatasetFailed,
    DatasetNotReady,
    EnvironmentFailed,
    EnvironmentNotReady,
    RetryBackoff,
    SweepLimitReached,
    WaitingReason,
    WorkspaceExpired,
    WorkspaceNotStarted,
)
from cluster.domain.states import DatasetState, EnvironmentState, JobState, WorkspaceState
from cluster.domain.storage.storage_limits import storage_reason
from cluster.domain.workspace_terms import starts_at, workspace_state
from cluster.services.context import Cluster
from cluster.services.images.environment_choice import load_environments
from cluster.services.images.environments import load_default_environment
from cluster.services.images.gpu_support import read_no_gpu_reason
from cluster.services.placement.queue_heads import QueuedJobRow
from cluster.services.storage.disk_shortage import load_disk_shortage
from cluster.services.storage.workspace_storage import storage_of
from cluster.store.datasets import Dataset
from cluster.store.environments import Environment
from cluster.store.jobs import Attempt, Job, Sweep
from cluster.store.operations import Operation
from cluster.store.workspaces import Workspace

STARTED_STATES = (JobState.STARTING, JobState.RUNNING, JobState.STOPPING)


class HasSweep(Protocol):
    """A job's row, or the columns of one."""

    @property
    def id(self) -> int: ...

    @property
    def sweep_id(self) -> int | None: ...


@dataclass(frozen=True)
class StartBlockers:
    """The reasons that block jobs, by the id of their cause. A job has the first one that applies."""

    workspaces: dict[int, WaitingReason]
    """Workspace id → the reason of its term, or of its limit of storage."""
    datasets: dict[int, WaitingReason]
    environment: WaitingReason | None
    """The reason that the default environment gives."""
    disk: WaitingReason | None = None
    environments: Mapping[int, WaitingReason] = field(default_factory=dict)
    """Environment id → the reason that a chosen environment gives."""

    def reason_for(
        self, workspace_id: int, dataset_id: int | None, environment_id: int | None = None
    ) -> WaitingReason | None:
        found = self.workspaces.get(workspace_id)
        if found is None and dataset_id is not None:
            found = self.datasets.get(dataset_id)
        if environment_id is None:
            return found or self.environment or self.disk
        return found or self.environments.get(environment_id) or self.disk


def read_start_blockers(
    cluster: Cluster,
    session: Session,
    workspaces: Iterable[Workspace | Row[*tuple[Any, ...]]],
    dataset_ids: Collection[int],
    environment_ids: Collection[int] = (),
) -> StartBlockers:
    """Reads the blockers. Each workspace needs at least the columns of the term, the name and those of the storage."""
    places = {place.id: workspace_reason(cluster, place) for place in workspaces}
    chosen = {
        key: environment_blocker(cluster, session, row)
        for key, row in load_environments(session, environment_ids).items()
    }
    return StartBlockers(
        {place: reason for place, reason in places.items() if reason},
        read_dataset_reasons(session, dataset_ids),
        environment_blocker(cluster, session, load_default_environment(session)),
        disk_reason(session),
        {key: reason for key, reason in chosen.items() if reason},
    )


def environment_blocker(
    cluster: Cluster, session: Session, environment: Environment | None
) -> WaitingReason | None:
    return environment_reason(session, environment) or read_no_gpu_reason(cluster, session, environment)


def disk_reason(session: Session) -> WaitingReason | None:
    """Returns why nothing starts: a disk has less free space than is kept for the database."""
    shortage = load_disk_shortage(session)
    return shortage.reason if shortage is not None else None


def workspace_reason(cluster: Cluster, workspace: Workspace | Row[*tuple[Any, ...]]) -> WaitingReason | None:
    """The reason of an ended workspace is its end, however much it stores."""
    return term_reason(cluster, workspace) or storage_reason(storage_of(workspace))


def term_reason(cluster: Cluster, workspace: Workspace | Row[*tuple[Any, ...]]) -> WaitingReason | None:
    zone = cluster.settings.zone
    state = workspace_state(workspace, cluster.clock(), zone)
    if state is WorkspaceState.SCHEDULED:
        return WorkspaceNotStarted(workspace.name, starts_at(workspace, zone).date())
    if state is WorkspaceState.EXPIRED:
        ended = workspace.ended_at.astimezone(zone).date() if workspace.ended_at else workspace.ends_on
        return WorkspaceExpired(workspace.name, ended)
    return None


def read_dataset_reasons(session: Session, dataset_ids: Collection[int]) -> dict[int, WaitingReason]:
    """Returns dataset id → reason for those of the datasets that are not ready."""
    if not dataset_ids:
        return {}
    query = select(Dataset).where(Dataset.id.in_(dataset_ids), Dataset.state != DatasetState.READY)
    found = ((dataset.id, dataset_reason(session, dataset)) for dataset in session.scalars(query))
    return {dataset_id: reason for dataset_id, reason in found if reason}


def dataset_reason(session: Session, dataset: Dataset | None) -> WaitingReason | None:
    if dataset is None or dataset.state is DatasetState.READY:
        return None
    if dataset.state is DatasetState.FAILED or dataset.deleted_at is not None:
        return DatasetFailed(dataset.name)
    operation = session.get(Operation, dataset.operation_id) if dataset.operation_id else None
    return DatasetNotReady(dataset.name, operation.progress if operation else 0.0)


def environment_reason(session: Session, environment: Environment | None) -> WaitingReason | None:
    """Returns the reason of the default environment, in which jobs run that choose none."""
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


def read_interruptions_in_a_row(session: Session, job_id: int) -> int:
    """Counts how many of the job's last attempts were interrupted at their beginning, up to the number that matters."""
    query = (
        select(Attempt.end_code, Attempt.created_at, Attempt.ended_at)
        .where(Attempt.job_id == job_id, Attempt.ended_at.is_not(None))
        .order_by(Attempt.number.desc())
        .limit(retry_backoff.MAX_INTERRUPTIONS_IN_A_ROW)
    )
    ends = ((code, ended - begun) for code, begun, ended in session.execute(query) if ended is not None)
    return retry_backoff.count_interruptions_in_a_row(ends)


def read_backoffs(session: Session, jobs: Iterable[QueuedJobRow], now: datetime) -> dict[int, RetryBackoff]:
    """Returns job id → backoff for the jobs whose pause is not over."""
    ids = [job.id for job in jobs if job.waiting_code == RetryBackoff.code]
    if not ids:
        return {}
    rows = session.execute(select(Job.id, Job.waiting_code, Job.waiting_data).where(Job.id.in_(ids)))
    found = {job_id: retry_backoff.parse_backoff(code, data, now) for job_id, code, data in rows}
    return {job_id: pause for job_id, pause in found.items() if pause}


def read_sweep_slots(session: Session, sweep_ids: Collection[int]) -> dict[int, tuple[int, int]]:
    """Returns sweep id → (most jobs at once, how many more may start now) for sweeps with a limit."""
    if not sweep_ids:
        return {}
    known = select(Sweep.id, Sweep.most_at_once).where(Sweep.id.in_(sweep_ids))
    return read_slots_within(
        session, {row[0]: row[1] for row in session.execute(known) if row[1] is not None}
    )


def read_slots_within(session: Session, limits: Mapping[int, int]) -> dict[int, tuple[int, int]]:
    """Returns sweep id → (most jobs at once, how many more may start now) for these limits."""
    if not limits:
        return {}
    running = select(Job.sweep_id, func.count()).where(
        Job.sweep_id.in_(limits), Job.state.in_(STARTED_STATES)
    )
    busy = {row[0]: row[1] for row in session.execute(running.group_by(Job.sweep_id))}
    return {sweep: (most, max(0, most - busy.get(sweep, 0))) for sweep, most in limits.items()}


def find_sweep_limited(
    session: Session, waiting: Iterable[HasSweep], new_limits: Mapping[int, int] | None = None
) -> dict[int, SweepLimitReached]:
    """Returns job id → limit for the jobs that would exceed the limit of their sweep. `waiting` has the order of the
    queue.

    `new_limits`: sweep id → most jobs at once, of sweeps that are only previewed.
    """
    ours = [(job.id, job.sweep_id) for job in waiting if job.sweep_id is not None]
    room = read_sweep_slots(session, {sweep_id for _, sweep_id in ours}) if ours else {}
    room |= {sweep_id: (most, most) for sweep_id, most in (new_limits or {}).items()}
    left = {sweep_id: free for sweep_id, (_, free) in room.items()}
    limited: dict[int, SweepLimitReached] = {}
    for job_id, sweep_id in ours:
        if sweep_id in room:
            left[sweep_id] -= 1
            if left[sweep_id] < 0:
                limited[job_id] = SweepLimitReached(sweep_id, room[sweep_id][0])
    return limited
