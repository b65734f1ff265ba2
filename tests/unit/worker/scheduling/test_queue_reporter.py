"""Reasons are written after a pass, at most twice a second; forecasts take a slice of each pass."""

from dataclasses import replace

import pytest
from sqlalchemy import event

from cluster.domain.states import JobState
from cluster.services.context import Cluster
from cluster.services.leases import (
    SCHEDULER_LEASE,
    SCHEDULER_LEASE_DURATION,
    HeldLease,
    LeaseLost,
    acquire_lease,
)
from cluster.services.placement.snapshot import PlacementSnapshot, read_placement_snapshot
from cluster.services.queue.written_queue import read_written_queue
from cluster.store.environments import Environment
from cluster.store.facts import InstallationFact
from cluster.store.jobs import Job
from tests.builders import a_job, a_node, a_training, a_workspace, add, holding
from tests.conftest import Clock, SteadyClock
from worker.scheduling.queue_reporter import (
    CHANGE_SECONDS,
    FORECAST_SECONDS,
    REPEAT_SECONDS,
    SLICE_SECONDS,
    QueueReporter,
)

JOBS = 6


@pytest.fixture
def reporter(light_cluster: Cluster, steady: SteadyClock) -> QueueReporter:
    return QueueReporter(light_cluster, steady)


@pytest.fixture
def held(light_cluster: Cluster) -> HeldLease:
    held = acquire_lease(light_cluster, SCHEDULER_LEASE, "one", SCHEDULER_LEASE_DURATION)
    assert held
    return held


@pytest.fixture
def jobs(light_cluster: Cluster) -> list[Job]:
    """A line behind a job on the only unit."""
    cluster = light_cluster
    environment = Environment(name="default", digest="d", state="ready", created_at=cluster.clock())
    add(cluster, environment, InstallationFact(name="default_environment", value={"digest": "d"}))
    training = a_training(cluster, a_workspace(cluster, units=1))
    running = a_job(cluster, training, state=JobState.RUNNING, time_limit_seconds=600)
    holding(cluster, running, a_node(cluster, 1).units)
    return [a_job(cluster, training, time_limit_seconds=60) for _ in range(JOBS)]


def look(cluster: Cluster) -> PlacementSnapshot:
    with cluster.store.read() as session:
        return read_placement_snapshot(cluster, session)


def test_a_change_is_written_within_half_a_second_and_forecasts_with_it(
    light_cluster: Cluster, reporter: QueueReporter, steady: SteadyClock, held: HeldLease, jobs: list[Job]
) -> None:
    reporter.note(look(light_cluster))
    reporter.advance(held)
    written = read_written_queue(light_cluster)
    assert written.jobs[jobs[0].id].explanation.code == "waiting.quota_used"
    assert [job_id for job_id, one in written.jobs.items() if one.explanation.starts_at] == [
        job.id for job in jobs
    ]
    with light_cluster.store.write() as session:
        session.get_one(Job, jobs[0].id).held_at = light_cluster.clock()
    for passed, expected in ((CHANGE_SECONDS / 2, jobs[0].id), (CHANGE_SECONDS, jobs[1].id)):
        steady.now += passed
        reporter.note(look(light_cluster))
        reporter.advance(held)
        assert list(read_written_queue(light_cluster).overview.fronts.values()) == [expected]


def test_an_unchanged_queue_costs_no_write_and_an_empty_one_no_statement(
    light_cluster: Cluster, reporter: QueueReporter, steady: SteadyClock, held: HeldLease, jobs: list[Job]
) -> None:
    statements: list[str] = []
    reporter.note(look(light_cluster))
    reporter.advance(held)
    event.listen(
        light_cluster.store.engine, "before_cursor_execute", lambda *given: statements.append(given[2])
    )
    steady.now += REPEAT_SECONDS
    reporter.note(look(light_cluster))
    statements.clear()
    reporter.advance(held)
    assert statements and all(statement.startswith(("BEGIN", "SELECT")) for statement in statements)
    empty = replace(look(light_cluster), jobs_to_place=[], jobs={})
    empty.__dict__.pop("decisions", None)
    for _ in range(2):
        steady.now += REPEAT_SECONDS
        reporter.note(empty)
        statements.clear()
        reporter.advance(held)
    assert statements == []
    assert read_written_queue(light_cluster).jobs == {}


def test_a_forecast_is_spread_over_passes_and_waits_while_jobs_start(
    light_cluster: Cluster, reporter: QueueReporter, steady: SteadyClock, held: HeldLease, jobs: list[Job]
) -> None:
    def known_starts() -> int:
        written = read_written_queue(light_cluster).jobs.values()
        return sum(one.explanation.starts_at is not None for one in written)

    steady.step = SLICE_SECONDS
    passes = 0
    while known_starts() < JOBS:
        reporter.note(look(light_cluster))
        reporter.advance(held)
        steady.now += CHANGE_SECONDS
        passes += 1
    assert 2 < passes < 20
    steady.step = 0.0
    reporter.note_event()
    reporter.note(look(light_cluster))
    assert reporter.next_line({jobs[0].workspace_id}, steady.now + FORECAST_SECONDS) == jobs[0].workspace_id
    reporter.forecast_at = steady.now
    reporter.advance(held, is_busy=True)
    assert reporter.forecast is None and reporter.reports[jobs[0].workspace_id].version < reporter.version


def test_who_lost_the_lease_writes_nothing(
    light_cluster: Cluster, reporter: QueueReporter, held: HeldLease, jobs: list[Job], clock: Clock
) -> None:
    assert isinstance(light_cluster.clock, Clock)
    light_cluster.clock.move(hours=1)
    assert acquire_lease(light_cluster, SCHEDULER_LEASE, "another", SCHEDULER_LEASE_DURATION)
    reporter.note(look(light_cluster))
    with pytest.raises(LeaseLost):
        reporter.advance(held)
    assert read_written_queue(light_cluster).jobs == {}
