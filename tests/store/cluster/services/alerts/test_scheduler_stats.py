"""The scheduler's statistics are rewritten once a minute; the number of ended attempts only grows."""

from datetime import timedelta

import pytest

from cluster.domain.states import JobState
from cluster.services.alerts.scheduler_stats import (
    SCHEDULER_STATS_FACT,
    SchedulerStats,
    count_ended_attempts,
    parse_scheduler_stats,
    record_scheduler_stats,
)
from cluster.services.context import Cluster
from cluster.services.leases import HeldLease, LeaseLost, acquire_lease
from cluster.store.facts import InstallationFact
from cluster.store.jobs import Attempt
from cluster.store.nodes import Allocation
from tests.builders import a_job, a_node, a_training, a_workspace, holding
from tests.conftest import Clock
from tests.store.conftest import LASTS


def read_stats(cluster: Cluster) -> SchedulerStats | None:
    with cluster.store.read() as session:
        return parse_scheduler_stats(session.get(InstallationFact, SCHEDULER_STATS_FACT))


def end_an_attempt(cluster: Cluster, code: str | None) -> None:
    job = a_job(cluster, a_training(cluster, a_workspace(cluster)), state=JobState.RUNNING)
    attempt = holding(cluster, job, a_node(cluster).units)
    with cluster.store.write() as session:
        session.get_one(Attempt, attempt.id).end_code = code
        for allocation in session.query(Allocation).filter(Allocation.attempt_id == attempt.id):
            allocation.ended_at = cluster.clock()


def test_there_are_none_before_the_first_ones(cluster: Cluster) -> None:
    assert read_stats(cluster) is None


def test_each_ended_attempt_counts_once_from_the_first_record_on(
    cluster: Cluster, held: HeldLease, clock: Clock
) -> None:
    end_an_attempt(cluster, "exit.finished")
    record_scheduler_stats(cluster, held, 0.5, 0.2)
    assert read_stats(cluster) == SchedulerStats(clock(), 0.5, 0.5, {})
    clock.move(seconds=2)
    for code in ("exit.finished", "exit.finished", "exit.code", None):
        end_an_attempt(cluster, code)
    clock.move(seconds=2)
    for _ in range(2):
        record_scheduler_stats(cluster, held, 0.1, 0.4)
    counts = {"exit.finished": 2, "exit.code": 1, "unknown": 1}
    assert read_stats(cluster) == SchedulerStats(clock(), 0.1, 0.4, counts)


def test_an_attempt_belongs_to_the_time_in_which_its_units_came_free(cluster: Cluster, clock: Clock) -> None:
    end_an_attempt(cluster, "exit.code")
    moment, second = clock(), timedelta(seconds=1)
    with cluster.store.read() as session:
        assert count_ended_attempts(session, moment - second, moment) == {"exit.code": 1}
        assert count_ended_attempts(session, moment, moment + second) == {}


def test_a_scheduler_without_its_lease_records_nothing(
    cluster: Cluster, held: HeldLease, clock: Clock
) -> None:
    clock.move(seconds=11)
    assert acquire_lease(cluster, "scheduler", "two", LASTS)
    with pytest.raises(LeaseLost):
        record_scheduler_stats(cluster, held, 0.1, 0.1)
    assert read_stats(cluster) is None
