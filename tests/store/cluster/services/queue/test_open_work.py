"""Open work is what a scheduling pass would do something about, and nothing else."""

from collections.abc import Callable
from datetime import timedelta

import pytest

from cluster.domain.states import AttemptState, JobState, OperationKind, OperationState, TaskQueue
from cluster.services.context import Cluster
from cluster.services.queue.open_work import has_open_work
from cluster.store.jobs import Attempt, Job
from cluster.store.operations import Operation
from tests.builders import a_job, a_node, a_training, a_workspace, add, an_administrator
from tests.conftest import Clock


def job(cluster: Cluster, **columns: object) -> Job:
    return a_job(cluster, a_training(cluster, a_workspace(cluster)), **columns)


def operation(cluster: Cluster, state: OperationState) -> None:
    asked = {"requested_by": an_administrator(cluster).id, "requested_at": cluster.clock()}
    add(cluster, Operation(kind=OperationKind.NOTICES, queue=TaskQueue.GENERAL, state=state, **asked))


def a_silent_node(cluster: Cluster, is_lost: bool) -> None:
    node = a_node(cluster)
    node.heartbeat_at = cluster.clock() - timedelta(seconds=21)
    node.lost_at = cluster.clock() if is_lost else None
    add(cluster, node)


def an_attempt_of_an_ended_job(cluster: Cluster) -> None:
    """A job is ended before its attempt in no transaction of ours; the attempt counts by itself."""
    ended = job(cluster, state=JobState.FINISHED, ended_at=cluster.clock())
    node = a_node(cluster)
    now = cluster.clock()
    add(
        cluster,
        Attempt(job_id=ended.id, number=1, node_id=node.id, state=AttemptState.RUNNING, created_at=now),
    )


@pytest.mark.parametrize(
    "make",
    [
        job,
        lambda cluster: job(cluster, state=JobState.STOPPING),
        an_attempt_of_an_ended_job,
        lambda cluster: operation(cluster, OperationState.REQUESTED),
        lambda cluster: operation(cluster, OperationState.RUNNING),
        lambda cluster: job(cluster, state=JobState.FAILED, files_unwanted_at=cluster.clock()),
        lambda cluster: a_silent_node(cluster, is_lost=False),
    ],
)
def test_what_a_pass_has_to_see_to(cluster: Cluster, make: Callable[[Cluster], object]) -> None:
    make(cluster)
    assert has_open_work(cluster)


def test_what_waits_for_a_person_or_is_over_is_none(cluster: Cluster, clock: Clock) -> None:
    now = cluster.clock()
    job(cluster, held_at=now)
    job(cluster, state=JobState.FINISHED, ended_at=now)
    job(cluster, state=JobState.FAILED, files_unwanted_at=now, files_deleted_at=now)
    operation(cluster, OperationState.INTERRUPTED)
    operation(cluster, OperationState.FINISHED)
    a_silent_node(cluster, is_lost=True)
    a_node(cluster)
    assert not has_open_work(cluster)
    # The last node falls silent.
    clock.move(seconds=21)
    assert has_open_work(cluster)
