"""Operations are requested, claimed by one task worker at a time, listed and retried."""

from datetime import timedelta

import pytest

from cluster.domain.errors import Conflict
from cluster.domain.states import DatasetState, EnvironmentState, OperationState
from cluster.services import datasets
from cluster.services.context import Cluster
from cluster.services.images import environments
from cluster.services.operations import lifecycle
from cluster.services.operations.stale_operations import requeue_stale_operations
from cluster.store.datasets import Dataset
from cluster.store.operations import Operation
from cluster.store.users import User
from tests.builders import a_user, a_workspace, actor_of, an_administrator
from tests.conftest import Clock, RecordingBell
from tests.simultaneous_calls import at_once


def a_build(cluster: Cluster) -> int:
    environment = environments.ensure_default_environment(
        cluster, actor_of(an_administrator(cluster)), "d1", "/e"
    )
    assert environment.operation_id is not None
    return environment.operation_id


def read(cluster: Cluster, operation_id: int) -> Operation:
    with cluster.store.read() as session:
        return session.get_one(Operation, operation_id)


def claim(cluster: Cluster, operation_id: int, holder: str = "first") -> Operation:
    operation = lifecycle.claim_operation(cluster, operation_id, holder)
    assert operation is not None
    return operation


def test_an_operation_is_rung_once_it_is_committed(cluster: Cluster, bell: RecordingBell) -> None:
    operation_id = a_build(cluster)
    assert bell.enqueued == [("images", operation_id)]
    assert ("operations", operation_id) in bell.rung


def test_only_one_task_worker_claims_an_operation(cluster: Cluster) -> None:
    operation_id = a_build(cluster)
    claims = at_once(*[lambda: lifecycle.claim_operation(cluster, operation_id, "somebody")] * 4)
    assert sum(isinstance(one, Operation) for one in claims) == 1
    assert claims.count(None) == 3


def test_a_silent_holder_loses_its_operation_and_can_change_nothing_more(
    cluster: Cluster, clock: Clock, bell: RecordingBell
) -> None:
    operation_id = a_build(cluster)
    first = claim(cluster, operation_id)
    clock.now += lifecycle.CLAIM_LASTS + timedelta(seconds=1)
    requeue_stale_operations(cluster)
    assert read(cluster, operation_id).state is OperationState.REQUESTED
    assert bell.enqueued[-1] == ("images", operation_id)
    second = claim(cluster, operation_id, "second")
    assert second.fence == first.fence + 1
    assert not lifecycle.renew_operation(cluster, operation_id, first.fence)
    with pytest.raises(Conflict):
        lifecycle.report_step(cluster, operation_id, first.fence, "install", 0.5)
    with pytest.raises(Conflict):
        environments.finish_build(cluster, operation_id, first.fence, [])
    environments.finish_build(cluster, operation_id, second.fence, [["horovod", "0.28.1", "ranks"]])
    assert read(cluster, operation_id).state is OperationState.FINISHED


def test_a_renewed_lease_is_not_taken_away(cluster: Cluster, clock: Clock) -> None:
    operation_id = a_build(cluster)
    operation = claim(cluster, operation_id)
    for _ in range(4):
        clock.now += lifecycle.CLAIM_LASTS - timedelta(seconds=1)
        assert lifecycle.renew_operation(cluster, operation_id, operation.fence)
        requeue_stale_operations(cluster)
    assert read(cluster, operation_id).state is OperationState.RUNNING


def test_steps_tell_what_is_done_what_goes_on_and_what_is_to_come(cluster: Cluster) -> None:
    operation_id = a_build(cluster)
    fence = claim(cluster, operation_id).fence
    lifecycle.plan_steps(cluster, operation_id, fence, ["download", "compile", "verify"])
    lifecycle.report_step(cluster, operation_id, fence, "compile", 0.4, "42 of 105 files")
    lifecycle.report_step(cluster, operation_id, fence, "surprise", 0.6)
    found = read(cluster, operation_id)
    states = {step["code"]: step["state"] for step in found.steps}
    assert states == {"download": "done", "compile": "done", "verify": "done", "surprise": "now"}
    assert found.progress == 0.6


def test_a_failed_build_is_told_and_can_be_asked_for_again(cluster: Cluster) -> None:
    actor = actor_of(an_administrator(cluster))
    operation_id = a_build(cluster)
    fence = claim(cluster, operation_id).fence
    lifecycle.report_step(cluster, operation_id, fence, "compile", 0.4)
    environments.fail_build(cluster, operation_id, fence, "environment.no_space", {"needed": 10, "free": 2})
    failed = read(cluster, operation_id)
    assert failed.steps[0]["state"] == "failed"
    assert (failed.error_code, failed.error_data) == ("environment.no_space", {"needed": 10, "free": 2})
    environment = environments.read_default_environment(cluster)
    assert environment is not None and environment.state is EnvironmentState.FAILED
    lifecycle.retry_operation(cluster, actor, operation_id)
    environment = environments.read_default_environment(cluster)
    assert environment is not None and environment.state is EnvironmentState.BUILDING
    with pytest.raises(Conflict):
        lifecycle.retry_operation(cluster, actor, operation_id)


def test_a_failed_import_is_told_by_the_dataset_too(cluster: Cluster) -> None:
    manager = a_user(cluster)
    workspace = a_workspace(cluster, manager)
    dataset = datasets.create_sample(cluster, actor_of(manager), workspace.id)
    assert dataset.operation_id is not None
    fence = claim(cluster, dataset.operation_id).fence
    datasets.fail_import(cluster, dataset.operation_id, fence, "dataset.no_space", {"free": 1})
    found = datasets.read_dataset(cluster, actor_of(manager), dataset.id)
    assert (found.state, found.error_code) == (DatasetState.FAILED, "dataset.no_space")
    lifecycle.retry_operation(cluster, actor_of(manager), dataset.operation_id)
    again = datasets.read_dataset(cluster, actor_of(manager), dataset.id)
    assert again.state is DatasetState.PREPARING


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
    lifecycle.retry_operation(cluster, actor_of(administrator), operation_id)
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
    assert lifecycle.read_retry_obstacle(cluster, read(cluster, operation_id)) == "operation.same_refusal"
    with pytest.raises(Conflict) as refused:
        lifecycle.retry_operation(cluster, actor_of(maker), operation_id)
    assert refused.value.code == "operation.same_refusal"


def test_an_import_whose_dataset_was_deleted_is_not_tried_again(cluster: Cluster) -> None:
    maker = a_user(cluster)
    dataset = a_failed_import(cluster, maker)
    operation_id = dataset.operation_id or 0
    assert lifecycle.read_retry_obstacle(cluster, read(cluster, operation_id)) is None
    datasets.delete_dataset(cluster, actor_of(maker), dataset.id)
    with pytest.raises(Conflict) as refused:
        lifecycle.retry_operation(cluster, actor_of(maker), operation_id)
    assert refused.value.code == "operation.subject_deleted"


def test_an_interrupted_import_needs_nobody_once_its_dataset_is_deleted(cluster: Cluster) -> None:
    maker = a_user(cluster)
    dataset = a_failed_import(cluster, maker)
    with cluster.store.write() as session:
        session.get_one(Operation, dataset.operation_id).state = OperationState.INTERRUPTED
    datasets.delete_dataset(cluster, actor_of(maker), dataset.id)
    given_up = read(cluster, dataset.operation_id or 0)
    assert (given_up.state, given_up.error_code) == (OperationState.FAILED, "operation.subject_deleted")
