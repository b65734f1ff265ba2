"""The default environment is asked for once, is ready after its build, and can be built again."""

import pytest
from sqlalchemy import select

from cluster.domain.errors import Conflict
from cluster.domain.states import EnvironmentState, OperationState
from cluster.services.context import Cluster
from cluster.services.images.environments import (
    ensure_default_environment,
    fail_build,
    finish_build,
    is_being_built,
    load_default_environment,
    read_default_environment,
    rebuild_default_environment,
)
from cluster.services.operations.lifecycle import claim_operation
from cluster.store.environments import Environment
from cluster.store.operations import Operation
from tests.builders import actor_of, an_administrator
from tests.conftest import Clock, RecordingBell

CONTENTS = [["horovod", "0.28.1", "ranks"]]


def ensure(cluster: Cluster, digest: str = "d1") -> Environment:
    return ensure_default_environment(cluster, actor_of(an_administrator(cluster)), digest, "/e")


def claim(cluster: Cluster) -> Operation:
    environment = ensure(cluster)
    assert environment.operation_id is not None
    operation = claim_operation(cluster, environment.operation_id, "a worker")
    assert operation is not None
    return operation


def state(cluster: Cluster) -> tuple[EnvironmentState, bool]:
    """Of the default environment, and whether its build is open."""
    with cluster.store.read() as session:
        environment = load_default_environment(session)
        assert environment is not None
        return environment.state, is_being_built(session, environment)


def test_an_environment_is_asked_for_once_and_the_newest_digest_is_the_default(
    cluster: Cluster, bell: RecordingBell
) -> None:
    assert read_default_environment(cluster) is None
    for _ in range(3):
        ensure(cluster)
    assert len(bell.enqueued) == 1
    assert state(cluster) == (EnvironmentState.BUILDING, True)
    ensure(cluster, "d2")
    current = read_default_environment(cluster)
    assert current is not None and (current.digest, current.path) == ("d2", "/e")
    with cluster.store.read() as session:
        assert len(session.scalars(select(Environment)).all()) == len(bell.enqueued) == 2


def test_a_finished_build_makes_it_ready_and_the_queue_is_looked_at(
    cluster: Cluster, bell: RecordingBell, clock: Clock
) -> None:
    operation = claim(cluster)
    clock.move(minutes=20)
    operation = claim_operation(cluster, operation.id, "another") or operation
    finish_build(cluster, operation.id, operation.fence, CONTENTS)
    environment = read_default_environment(cluster)
    assert environment is not None and (environment.contents, environment.ready_at) == (CONTENTS, clock())
    assert state(cluster) == (EnvironmentState.READY, False)
    assert bell.rung[-2:] == [("operations", operation.id), ("queue", 0)]
    ensure(cluster)
    assert len(bell.enqueued) == 1


def test_a_failed_build_says_why(cluster: Cluster, bell: RecordingBell) -> None:
    operation = claim(cluster)
    fail_build(cluster, operation.id, operation.fence, "environment.no_space", {"needed": 10})
    assert state(cluster) == (EnvironmentState.FAILED, False)
    with cluster.store.read() as session:
        row = session.get_one(Operation, operation.id)
        assert (row.state, row.error_code, row.error_data) == (
            OperationState.FAILED,
            "environment.no_space",
            {"needed": 10},
        )
    assert bell.rung[-2:] == [("operations", operation.id), ("queue", 0)]


def test_a_worker_that_lost_the_build_can_neither_finish_nor_fail_it(cluster: Cluster) -> None:
    operation = claim(cluster)
    with pytest.raises(Conflict):
        finish_build(cluster, operation.id, operation.fence + 1, CONTENTS)
    with pytest.raises(Conflict):
        fail_build(cluster, operation.id, operation.fence + 1, "environment.no_space", {})
    assert state(cluster) == (EnvironmentState.BUILDING, True)


def test_an_environment_whose_files_are_gone_is_built_again(cluster: Cluster, bell: RecordingBell) -> None:
    actor = actor_of(an_administrator(cluster))
    rebuild_default_environment(cluster, actor)
    assert bell.enqueued == []
    operation = claim(cluster)
    finish_build(cluster, operation.id, operation.fence, CONTENTS)
    rebuild_default_environment(cluster, actor)
    assert state(cluster) == (EnvironmentState.BUILDING, True)
    assert len(bell.enqueued) == 2
