"""Reads what blocks jobs before units are considered: the term of the workspace, the dataset, the environment, a full
disk."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Row, select
from sqlalchemy.orm import Session

from cluster.domain.queue.reasons import (
    DatasetFailed,
    DatasetNotReady,
    EnvironmentFailed,
    EnvironmentNotReady,
    WaitingReason,
    WorkspaceExpired,
    WorkspaceNotStarted,
)
from cluster.domain.states import DatasetState, EnvironmentState, WorkspaceState
from cluster.domain.workspace_terms import starts_at, workspace_state
from cluster.services.context import Cluster
from cluster.services.images.environments import load_default_environment
from cluster.services.images.gpu_support import read_no_gpu_reason
from cluster.services.storage.disk_space import load_disk_shortage
from cluster.store.datasets import Dataset
from cluster.store.environments import Environment
from cluster.store.operations import Operation
from cluster.store.workspaces import Workspace


@dataclass(frozen=True)
class StartBlockers:
    """Reasons by the id of what they hang on; a job has the first that applies."""

    terms: dict[int, WaitingReason]
    """By workspace."""
    datasets: dict[int, WaitingReason]
    environment: WaitingReason | None
    disk: WaitingReason | None = None

    def reason_for(self, workspace_id: int, dataset_id: int | None) -> WaitingReason | None:
        found = self.terms.get(workspace_id)
        if found is None and dataset_id is not None:
            found = self.datasets.get(dataset_id)
        return found or self.environment or self.disk


def read_start_blockers(
    cluster: Cluster,
    session: Session,
    workspaces: Iterable[Workspace | Row[*tuple[Any, ...]]],
    dataset_ids: Collection[int],
) -> StartBlockers:
    """Of the workspaces at least the columns of the term and the name are needed."""
    terms = {place.id: term_reason(cluster, place) for place in workspaces}
    environment = load_default_environment(session)
    return StartBlockers(
        {place: reason for place, reason in terms.items() if reason},
        read_dataset_reasons(session, dataset_ids),
        environment_reason(session, environment) or read_no_gpu_reason(cluster, session, environment),
        disk_reason(session),
    )


def disk_reason(session: Session) -> WaitingReason | None:
    """Nothing starts while a disk has less free than is kept for the database."""
    shortage = load_disk_shortage(session)
    return shortage.reason if shortage is not None else None


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
    """Of those datasets that are not ready."""
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
