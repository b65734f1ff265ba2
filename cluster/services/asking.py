"""What a submission is checked against, read from the rows: one query per question, for each asks for one."""

from dataclasses import dataclass, replace

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from cluster.domain import jobs
from cluster.domain.errors import Refused
from cluster.domain.jobs import JobRequest, Warned
from cluster.domain.models import MODELS, check_variables
from cluster.domain.people import Actor
from cluster.domain.permissions import require
from cluster.domain.states import DatasetState, TrainingKind, UnitKind, UnitState
from cluster.services.context import Cluster
from cluster.services.placing import can_spread
from cluster.services.relations import require_active
from cluster.services.trainings import load_to_submit
from cluster.store.datasets import Dataset
from cluster.store.nodes import Node, Unit, offered_units
from cluster.store.trainings import Training
from cluster.store.users import User


@dataclass(frozen=True)
class Asked:
    """A request with checked values, and the rows that it was checked against."""

    training: Training
    person: User
    dataset: Dataset | None
    request: JobRequest
    warnings: tuple[Warned, ...]


def check_submission(
    cluster: Cluster, session: Session, actor: Actor, training_id: int, request: JobRequest
) -> Asked:
    training, person, relation = load_to_submit(session, actor, training_id)
    require("job.submit", relation, training_id)
    require_active(cluster, training.workspace, "training")
    request = replace(request, name=request.name or training.name)
    kind, largest = read_largest_node(session)
    if can_spread(cluster) and largest is not None:
        largest = offered_units(session)
    warnings = jobs.check_request(request, training.kind, training.workspace.units, largest, kind)
    dataset = check_dataset(session, training, request.dataset_id)
    if training.kind is TrainingKind.BUILT_IN:
        if dataset is None:
            raise Refused("dataset", "job.dataset_needed", model=training.model)
        request = replace(request, variables=check_variables(MODELS[training.model or ""], request.variables))
    elif request.variables:
        raise Refused("variables", "job.variables_without_model", name=training.name)
    return Asked(training, person, dataset, request, warnings)


def read_largest_node(session: Session) -> tuple[UnitKind, int | None]:
    """(kind of units, how many working ones the largest node has); None before any node has reported."""
    count = func.count(Unit.id)
    row = session.execute(
        select(Unit.kind, count)
        .join(Node)
        .where(Unit.state == UnitState.OK, Node.has_executor)
        .group_by(Unit.node_id, Unit.kind)
        .order_by(count.desc())
        .limit(1)
    ).first()
    return (row[0], row[1]) if row else (UnitKind.GPU, None)


def check_dataset(session: Session, training: Training, dataset_id: int | None) -> Dataset | None:
    if dataset_id is None:
        return None
    dataset = session.scalar(
        select(Dataset).where(
            Dataset.id == dataset_id,
            Dataset.workspace_id == training.workspace_id,
            Dataset.deleted_at.is_(None),
        )
    )
    if dataset is None:
        raise Refused("dataset", "job.dataset_unknown", id=dataset_id, workspace=training.workspace.name)
    if dataset.state is DatasetState.FAILED:
        raise Refused("dataset", "job.dataset_failed", name=dataset.name)
    return dataset
