"""The subjects of operations, which return to their in-progress state when an operation is requested again."""

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from cluster.domain.errors import Conflict
from cluster.domain.states import CodeState, DatasetState, EnvironmentState, OperationKind
from cluster.store.datasets import Dataset
from cluster.store.environments import Environment
from cluster.store.operations import Operation
from cluster.store.trainings import CodeVersion, Training


def restart_subject(session: Session, operation: Operation) -> None:
    """Sets the dataset or environment of the operation back to its in-progress state."""
    if operation.kind == OperationKind.ENVIRONMENT_BUILD:
        session.get_one(Environment, operation.subject_id).state = EnvironmentState.BUILDING
    elif operation.kind == OperationKind.ENVIRONMENT_INSTALL:
        restart_environment(session, operation)
    elif operation.kind in (OperationKind.DATASET_IMPORT, OperationKind.DATASET_SAMPLE):
        dataset = session.get_one(Dataset, operation.subject_id)
        require_unused_name(session, dataset)
        dataset.state = DatasetState.PREPARING
        dataset.error_code = dataset.error_data = None
    elif operation.kind == OperationKind.CODE_IMPORT:
        restart_code_import(session, operation)
    elif operation.kind == OperationKind.REPAIR:
        raise Conflict("repair.ask_again")


def restart_environment(session: Session, operation: Operation) -> None:
    """Raises Conflict if it was deleted."""
    environment = session.get_one(Environment, operation.subject_id)
    if environment.deleted_at is not None:
        raise Conflict("environment.was_deleted", name=environment.name)
    environment.state = EnvironmentState.BUILDING
    environment.operation_id = operation.id


def require_unused_name(session: Session, dataset: Dataset) -> None:
    """Raises Conflict if another dataset has the name by now. A failed dataset has left its name to others."""
    other = select(Dataset.id).where(
        Dataset.workspace_id == dataset.workspace_id,
        Dataset.name == dataset.name,
        Dataset.id != dataset.id,
        Dataset.deleted_at.is_(None),
        Dataset.state != DatasetState.FAILED,
    )
    if dataset.state is DatasetState.FAILED and session.scalar(other) is not None:
        raise Conflict("dataset.name_in_use", name=dataset.name)


def restart_code_import(session: Session, operation: Operation) -> None:
    """Raises Conflict if a later version has taken its place."""
    version = session.scalars(select(CodeVersion).where(CodeVersion.operation_id == operation.id)).one()
    training = session.get_one(Training, version.training_id)
    last = select(func.max(CodeVersion.number)).where(CodeVersion.training_id == training.id)
    if training.deleted_at is not None or session.scalar(last) != version.number:
        raise Conflict("code.superseded")
    version.state = CodeState.PREPARING
    version.error_code = version.error_data = None
