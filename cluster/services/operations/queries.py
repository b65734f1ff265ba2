"""Reads operations for pages, as far as the person may see them."""

from collections.abc import Iterable
from typing import Any

from sqlalchemy import Select, and_, exists, or_, select
from sqlalchemy.orm import Session, joinedload

from cluster.domain.errors import NotFound
from cluster.domain.people.actor import Actor
from cluster.domain.states import OperationKind, OperationState
from cluster.services.context import Cluster
from cluster.store.datasets import Dataset
from cluster.store.environments import Environment
from cluster.store.operations import IS_OPEN, Operation
from cluster.store.sql.reader_statement import ReaderStatement, id_parameter
from cluster.store.sql.visibility import can_see_environment, member_workspace_ids
from cluster.store.trainings import Training
from cluster.store.workspaces import Workspace

OF_ADMINISTRATORS = (
    OperationKind.REPAIR,
    OperationKind.BACKUP,
    OperationKind.ENVIRONMENT_BUILD,
    OperationKind.ENVIRONMENT_INSTALL,
)
"""The kinds that only administrators request if the operation belongs to no workspace."""
OF_DATASETS = (OperationKind.DATASET_IMPORT, OperationKind.DATASET_SAMPLE, OperationKind.DATASET_DELETE)


def list_operations(
    cluster: Cluster, actor: Actor, before_id: int | None = None, limit: int = 50, is_open: bool | None = None
) -> list[Operation]:
    """The operations, newest first. A person sees their own, those of their workspaces, and environments' builds."""
    shape = is_open, before_id is not None
    with cluster.store.read() as session:
        rows = PAGE_OF_OPERATIONS.execute(session, actor, *shape, before_id=before_id, length=limit)
        return list(rows.scalars())


def read_dataset_names(cluster: Cluster, operations: Iterable[Operation]) -> dict[int, str]:
    """Operation id → name of the dataset that it makes or deletes. All members of a workspace may know its datasets."""
    datasets = {one.id: one.subject_id for one in operations if one.kind in OF_DATASETS}
    if not datasets:
        return {}
    query = select(Dataset.id, Dataset.name).where(Dataset.id.in_(set(datasets.values())))
    with cluster.store.read() as session:
        names = {row.id: row.name for row in session.execute(query)}
    return {number: names[dataset] for number, dataset in datasets.items() if dataset in names}


def select_page_of_operations(reader: Actor, is_open: bool | None, is_continued: bool) -> Select[Operation]:
    query = select(Operation).where(can_see_operation(reader)).options(joinedload(Operation.requester))
    if is_continued:
        query = query.where(Operation.id < id_parameter("before_id"))
    if is_open is not None:
        still = Operation.state.in_([OperationState.REQUESTED, OperationState.RUNNING])
        query = query.where(still if is_open else ~still)
    return query.order_by(Operation.id.desc()).limit(id_parameter("length"))


PAGE_OF_OPERATIONS = ReaderStatement(select_page_of_operations)


def interrupted_operations(actor: Actor) -> Select[Operation]:
    query = select(Operation).where(Operation.state == OperationState.INTERRUPTED, IS_OPEN)
    if not actor.is_administrator:
        managed = select(Workspace.id).where(Workspace.manager_id == actor.user_id)
        query = query.where(or_(is_own_operation(actor), Operation.workspace_id.in_(managed)))
    return query


def list_interrupted_operations(cluster: Cluster, actor: Actor, limit: int) -> list[Operation]:
    """Operations that were given up and that this person may retry, newest first."""
    query = interrupted_operations(actor).order_by(Operation.id.desc()).limit(limit)
    with cluster.store.read() as session:
        return list(session.scalars(query))


def is_own_operation(person: Actor) -> Any:
    """Selects the operations that the person requested and may still see, as a member of its workspace and not as an
    administrator.
    """
    return and_(
        Operation.requested_by == person.user_id,
        or_(
            Operation.workspace_id.in_(member_workspace_ids(person)),
            and_(Operation.workspace_id.is_(None), Operation.kind.not_in(OF_ADMINISTRATORS)),
        ),
    )


def is_still_own(session: Session, person: Actor, operation: Operation) -> bool:
    """Whether the person requested the operation and, if it brings code, owns the training: another person may own it
    by now, and the code would run as the new owner's jobs. Operations of environments belong to managers.
    """
    if operation.kind == OperationKind.ENVIRONMENT_INSTALL:
        return False
    own = select(Operation.id).where(Operation.id == operation.id, is_own_operation(person))
    if operation.kind in (OperationKind.CODE_FETCH, OperationKind.CODE_IMPORT):
        own = own.where(
            exists().where(Training.id == operation.subject_id, Training.owner_id == person.user_id)
        )
    return session.scalar(own) is not None


def is_manager_of(session: Session, person: Actor, operation: Operation) -> bool:
    """Whether the person is the manager of the operation's workspace."""
    query = select(Workspace.id).where(Workspace.id == operation.workspace_id)
    return session.scalar(query.where(Workspace.manager_id == person.user_id)) is not None


def can_see_operation(viewer: Actor) -> Any:
    """Everybody may see the build of an environment that they may choose, because their jobs wait for it."""
    if viewer.is_administrator:
        return Operation.id.is_not(None)
    return or_(
        is_own_operation(viewer),
        Operation.workspace_id.in_(member_workspace_ids(viewer)),
        Operation.kind == OperationKind.ENVIRONMENT_BUILD,
        (Operation.kind == OperationKind.ENVIRONMENT_INSTALL)
        & Operation.subject_id.in_(select(Environment.id).where(can_see_environment(viewer))),
    )


def read_operation(cluster: Cluster, actor: Actor, operation_id: int) -> Operation:
    query = select(Operation).where(Operation.id == operation_id, can_see_operation(actor))
    with cluster.store.read() as session:
        operation = session.scalar(query.options(joinedload(Operation.requester)))
    if operation is None:
        raise NotFound("operation", operation_id)
    return operation
