"""An operation that ended badly is requested again, and says who asked; some never can be."""

from dataclasses import replace

import pytest

from cluster.domain.errors import Conflict, Forbidden, NotFound
from cluster.domain.states import OperationKind, OperationState, TaskQueue
from cluster.services import datasets
from cluster.services.context import Cluster
from cluster.services.operations import queries, retries
from cluster.store.datasets import Dataset
from cluster.store.operations import Operation
from cluster.store.trainings import Training
from cluster.store.users import User
from cluster.store.workspaces import Workspace
from tests.builders import a_training, a_user, a_workspace, actor_of, add, an_administrator
from tests.conftest import Clock
from tests.store.cluster.services.operations.test_lifecycle import claim, read


def a_failed_import(cluster: Cluster, maker: User, code: str = "dataset.no_space") -> Dataset:
    workspace = a_workspace(cluster, members=(maker,))
    dataset = datasets.create_sample(cluster, actor_of(maker), workspace.id)
    assert dataset.operation_id is not None
    fence = claim(cluster, dataset.operation_id).fence
    datasets.fail_import(cluster, dataset.operation_id, fence, code, {})
    return dataset


def test_a_retry_names_who_asked_for_it_and_begins_anew(cluster: Cluster, clock: Clock) -> None:
    maker, administrator = a_user(cluster), an_administrator(cluster, "hjkim")
    operation_id = a_failed_import(cluster, maker).operation_id or 0
    first = read(cluster, operation_id)
    clock.move(minutes=25)
    retries.retry_operation(cluster, actor_of(administrator), operation_id)
    retried = read(cluster, operation_id)
    assert (retried.requested_by, retried.requested_at) == (maker.id, first.requested_at)
    assert (retried.retried_by, retried.retried_at) == ("hjkim", clock.now)
    assert retried.started_at is None
    fence = claim(cluster, operation_id).fence
    datasets.fail_import(cluster, operation_id, fence, "dataset.no_space", {})
    again = read(cluster, operation_id)
    assert again.started_at == again.ended_at == clock.now


@pytest.mark.parametrize("code", ["archive.link", "archive.unreadable"])
def test_a_refused_archive_is_not_tried_again(cluster: Cluster, code: str) -> None:
    maker = a_user(cluster)
    operation_id = a_failed_import(cluster, maker, code).operation_id or 0
    assert retries.read_retry_obstacle(cluster, read(cluster, operation_id)) == "operation.same_refusal"
    with pytest.raises(Conflict) as refused:
        retries.retry_operation(cluster, actor_of(maker), operation_id)
    assert refused.value.code == "operation.same_refusal"


def test_an_import_whose_dataset_was_deleted_is_not_tried_again(cluster: Cluster) -> None:
    maker = a_user(cluster)
    dataset = a_failed_import(cluster, maker)
    operation_id = dataset.operation_id or 0
    assert retries.read_retry_obstacle(cluster, read(cluster, operation_id)) is None
    datasets.delete_dataset(cluster, actor_of(maker), dataset.id)
    with pytest.raises(Conflict) as refused:
        retries.retry_operation(cluster, actor_of(maker), operation_id)
    assert refused.value.code == "operation.subject_deleted"


def test_an_interrupted_import_needs_nobody_once_its_dataset_is_deleted(cluster: Cluster) -> None:
    maker = a_user(cluster)
    dataset = a_failed_import(cluster, maker)
    with cluster.store.write() as session:
        session.get_one(Operation, dataset.operation_id).state = OperationState.INTERRUPTED
    datasets.delete_dataset(cluster, actor_of(maker), dataset.id)
    given_up = read(cluster, dataset.operation_id or 0)
    assert (given_up.state, given_up.error_code) == (OperationState.FAILED, "operation.subject_deleted")


def test_who_has_left_a_workspace_neither_sees_nor_retries_what_they_asked_for_there(
    cluster: Cluster,
) -> None:
    maker = a_user(cluster)
    dataset = a_failed_import(cluster, maker)
    operation_id = dataset.operation_id or 0
    assert retries.can_retry_operation(cluster, actor_of(maker), read(cluster, operation_id))
    with cluster.store.write() as session:
        workspace = session.get_one(Workspace, dataset.workspace_id)
        workspace.members.clear()
    assert not retries.can_retry_operation(cluster, actor_of(maker), read(cluster, operation_id))
    assert queries.list_operations(cluster, actor_of(maker)) == []
    with pytest.raises(NotFound):
        retries.retry_operation(cluster, actor_of(maker), operation_id)


@pytest.mark.parametrize("kind", [OperationKind.BACKUP, OperationKind.ENVIRONMENT_BUILD])
def test_who_is_no_administrator_any_more_retries_nothing_of_an_administrators(
    cluster: Cluster, kind: OperationKind
) -> None:
    chief = an_administrator(cluster)
    operation = Operation(
        kind=kind, queue=TaskQueue.GENERAL, subject_id=1, state=OperationState.INTERRUPTED,
        requested_by=chief.id, requested_at=cluster.clock(),
    )  # fmt: skip
    add(cluster, operation)
    former = replace(actor_of(chief), is_administrator=False)
    assert retries.can_retry_operation(cluster, actor_of(chief), operation)
    assert not retries.can_retry_operation(cluster, former, operation)
    assert queries.list_interrupted_operations(cluster, former, 10) == []
    with pytest.raises((NotFound, Forbidden)):
        retries.retry_operation(cluster, former, operation.id)


@pytest.mark.parametrize("kind", [OperationKind.CODE_FETCH, OperationKind.CODE_IMPORT])
def test_who_has_handed_a_training_over_brings_no_code_into_it_by_a_retry(
    cluster: Cluster, kind: OperationKind
) -> None:
    """Its new owner's jobs would run that code."""
    maker, other = a_user(cluster, "minji"), a_user(cluster, "taeho")
    training = a_training(cluster, a_workspace(cluster, members=(maker, other)), maker)
    operation = Operation(
        kind=kind, queue=TaskQueue.GENERAL, subject_id=training.id, workspace_id=training.workspace_id,
        state=OperationState.FAILED, requested_by=maker.id, requested_at=cluster.clock(),
    )  # fmt: skip
    add(cluster, operation)
    assert retries.can_retry_operation(cluster, actor_of(maker), operation)
    with cluster.store.write() as session:
        session.get_one(Training, training.id).owner_id = other.id
    assert not retries.can_retry_operation(cluster, actor_of(maker), operation)
    with pytest.raises(Forbidden):
        retries.retry_operation(cluster, actor_of(maker), operation.id)
