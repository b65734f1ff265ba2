"""Operations are requested, claimed by one task worker at a time, listed and retried."""

from datetime import timedelta

import pytest

from cluster.domain.errors import Conflict
from cluster.domain.states import DatasetState, EnvironmentState, OperationState
from cluster.services import datasets
from cluster.services.context import Cluster
from cluster.services.images import environments
from cluster.services.operations import lifecycle, retries
from cluster.services.operations.stale_operations import requeue_stale_operations
from cluster.store.operations import Operation
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
    retries.retry_operation(cluster, actor, operation_id)
    environment = environments.read_default_environment(cluster)
    assert environment is not None and environment.state is EnvironmentState.BUILDING
    with pytest.raises(Conflict):
        retries.retry_operation(cluster, actor, operation_id)


def test_a_failed_import_is_told_by_the_dataset_too(cluster: Cluster) -> None:
    manager = a_user(cluster)
    workspace = a_workspace(cluster, manager)
    dataset = datasets.create_sample(cluster, actor_of(manager), workspace.id)
    assert dataset.operation_id is not None
    fence = claim(cluster, dataset.operation_id).fence
    datasets.fail_import(cluster, dataset.operation_id, fence, "dataset.no_space", {"free": 1})
    found = datasets.read_dataset(cluster, actor_of(manager), dataset.id)
    assert (found.state, found.error_code) == (DatasetState.FAILED, "dataset.no_space")
    retries.retry_operation(cluster, actor_of(manager), dataset.operation_id)
    again = datasets.read_dataset(cluster, actor_of(manager), dataset.id)
    assert again.state is DatasetState.PREPARING
