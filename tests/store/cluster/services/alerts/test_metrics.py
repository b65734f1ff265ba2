"""Numbers for Prometheus are counted from rows: jobs, units, operations and how long ago things happened."""

from dataclasses import replace
from datetime import timedelta
from math import inf

import pytest

from cluster.domain.states import JobState, NodeState, OperationKind, OperationState, UnitState
from cluster.services.alerts.metrics import (
    count_jobs,
    count_operations,
    count_units,
    read_metrics,
    seconds_since,
)
from cluster.services.context import Cluster
from cluster.services.operations.lifecycle import request_operation
from cluster.store.operations import Operation
from cluster.store.queue import QueueTotal
from tests.builders import a_job, a_node, a_training, a_workspace, actor_of, add, an_administrator, holding
from tests.conftest import Clock


@pytest.mark.parametrize(("minutes_ago", "seconds"), [(2, 120.0), (0, 0.0), (-2, 0.0), (None, inf)])
def test_an_age_is_never_negative_and_endless_without_a_moment(
    clock: Clock, minutes_ago: int | None, seconds: float
) -> None:
    at = None if minutes_ago is None else clock() - timedelta(minutes=minutes_ago)
    assert seconds_since(at, clock()) == seconds


def test_waiting_jobs_are_those_of_the_last_count_and_others_are_rows(cluster: Cluster) -> None:
    workspace = a_workspace(cluster)
    training = a_training(cluster, workspace)
    for state in (JobState.STARTING, JobState.RUNNING, JobState.RUNNING, JobState.FINISHED):
        a_job(cluster, training, state=state)
    a_job(cluster, training, held_at=cluster.clock())
    a_job(cluster, training)
    for shape, jobs in (("small", 40), ("large", 2)):
        add(
            cluster,
            QueueTotal(
                workspace_id=workspace.id, shape=shape, units=1, jobs=jobs, counted_at=cluster.clock()
            ),
        )
    with cluster.store.read() as session:
        assert count_jobs(session) == {"waiting": 42, "held": 1, "starting": 1, "running": 2, "stopping": 0}


@pytest.mark.parametrize(
    ("state", "free_units_are"),
    [
        (NodeState.READY, "free"),
        (NodeState.UNREACHABLE, "lost"),
        (NodeState.LOST, "lost"),
        (NodeState.DRAINING, "closed"),
        (None, None),
    ],
)
def test_a_unit_is_booked_or_broken_or_as_its_node_is(
    cluster: Cluster, state: NodeState | None, free_units_are: str | None
) -> None:
    node = a_node(cluster, 4)
    job = a_job(cluster, a_training(cluster, a_workspace(cluster)), state=JobState.RUNNING)
    holding(cluster, job, node.units[:1])
    with cluster.store.write() as session:
        session.merge(node.units[1]).state = UnitState.BROKEN
    with cluster.store.read() as session:
        counts = count_units(session, {node.id: state} if state else {})
    expected = {"booked": 1, "broken": 1, free_units_are: 2} if free_units_are else {}
    assert {condition: count for condition, count in counts.items() if count} == expected


def test_operations_count_while_they_are_open(cluster: Cluster) -> None:
    actor = actor_of(an_administrator(cluster))
    states = (
        OperationState.REQUESTED,
        OperationState.REQUESTED,
        OperationState.RUNNING,
        OperationState.FAILED,
    )
    with cluster.store.write() as session:
        for state in states:
            row = request_operation(session, OperationKind.DATASET_DELETE, 1, actor, cluster.clock())
            session.flush()
            session.get_one(Operation, row.id).state = state
    with cluster.store.read() as session:
        assert count_operations(session) == {"requested": 2, "running": 1, "interrupted": 0}


def test_an_installation_that_has_done_nothing_yet_has_endless_ages(cluster: Cluster, clock: Clock) -> None:
    metrics = read_metrics(cluster)
    assert (metrics.backup_age, metrics.audit_age, metrics.scheduler_age) == (inf, inf, inf)
    assert (metrics.oldest_waiting_seconds, metrics.is_audit_intact, metrics.scheduler) == (0.0, False, None)
    a_node(cluster)
    a_job(cluster, a_training(cluster, a_workspace(cluster)), submitted_at=clock() - timedelta(hours=1))
    later = read_metrics(replace(cluster, settings=replace(cluster.settings, disk_reserve_bytes=7)))
    assert (later.nodes["ready"], later.oldest_waiting_seconds, later.disk_reserve) == (1, 3600.0, 7)
