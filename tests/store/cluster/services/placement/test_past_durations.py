"""Earlier runs say how long a job takes."""

from datetime import datetime, timedelta

import pytest

from cluster.domain.jobs.progress import ProgressEstimate
from cluster.domain.queue.start_estimate import EstimateSource
from cluster.domain.states import JobState
from cluster.services.context import Cluster
from cluster.services.jobs.progress import AttemptReport, record_reports
from cluster.services.leases import HeldLease
from cluster.services.placement.past_durations import (
    RUNS_PER_KIND,
    DurationRange,
    ExpectedDuration,
    expected_duration,
    read_durations_of_kind,
)
from cluster.services.queue import queries
from cluster.services.queue.dispatch import place_waiting_jobs
from cluster.store.jobs import Attempt, Job
from cluster.store.nodes import Node
from cluster.store.trainings import Training
from tests.builders import a_job, a_node, a_training, a_workspace, holding
from tests.conftest import Clock
from tests.queue_reports import report_queue


def a_full_node(cluster: Cluster, **columns: object) -> tuple[Node, Job, Attempt, Job]:
    """(node, the job on all of it, its attempt, the job that waits for it)."""
    node = a_node(cluster, 2, name="alpha")
    training = a_training(cluster, a_workspace(cluster, units=2))
    running = a_job(cluster, training, units=2, state=JobState.RUNNING, **columns)
    return node, running, holding(cluster, running, node.units), a_job(cluster, training, units=2)


def told(now: datetime, minutes: int) -> ProgressEstimate:
    ends = [now + timedelta(minutes=minutes * share) for share in (1, 0.8, 1.5)]
    return ProgressEstimate(0.5, *ends)


def test_a_time_limit_ends_a_job_before_its_progress_does(
    cluster: Cluster, held: HeldLease, clock: Clock
) -> None:
    _node, _running, attempt, waiting = a_full_node(cluster, time_limit_seconds=1200)
    record_reports(cluster, held, {attempt.id: AttemptReport(told(clock.now, 30))})
    report_queue(cluster)
    shown = queries.read_waiting_explanation(cluster, waiting)
    assert (shown.starts_at, shown.data["source"]) == (
        clock.now + timedelta(minutes=20),
        EstimateSource.TIME_LIMITS,
    )


def test_earlier_runs_of_different_lengths_make_a_range(
    cluster: Cluster, held: HeldLease, clock: Clock
) -> None:
    _node, running, _attempt, waiting = a_full_node(cluster)
    training_id = running.training_id
    for minutes in (10, 20, 40):
        with cluster.store.write() as session:
            session.add(
                Job(
                    workspace_id=running.workspace_id, training_id=training_id, user_id=running.user_id,
                    name="earlier", state=JobState.FINISHED, units=2, launcher=running.launcher, command=[],
                    submitted_at=clock.now - timedelta(hours=2), started_at=clock.now - timedelta(hours=2),
                    ended_at=clock.now - timedelta(hours=2) + timedelta(minutes=minutes),
                )
            )  # fmt: skip
    second = a_job(cluster, a_training_of(cluster, waiting), units=2)
    place_waiting_jobs(cluster, held)
    report_queue(cluster)
    first, behind = (queries.read_waiting_explanation(cluster, job) for job in (waiting, second))
    minutes = [round((moment - clock.now).total_seconds() / 60) for moment in
               (first.starts_at, first.earliest_at, first.latest_at,
                behind.starts_at, behind.earliest_at, behind.latest_at) if moment]  # fmt: skip
    assert minutes == [20, 10, 40, 40, 20, 80]
    assert first.data["source"] == behind.data["source"] == EstimateSource.HISTORY


def a_training_of(cluster: Cluster, job: Job) -> Training:
    with cluster.store.read() as session:
        return session.get_one(Job, job.id).training


RUNS = DurationRange(100.0, 200.0, 400.0)


@pytest.mark.parametrize(
    ("runs", "limit", "expected"),
    [
        (None, None, ExpectedDuration()),
        (None, 300, ExpectedDuration(300, None, 300, EstimateSource.TIME_LIMITS)),
        (RUNS, None, ExpectedDuration(200.0, 100.0, 400.0, EstimateSource.HISTORY)),
        (RUNS, 300, ExpectedDuration(200.0, 100.0, 300, EstimateSource.HISTORY)),
        # The limit cuts off what usually takes longer.
        (RUNS, 150, ExpectedDuration(150, 100.0, 150, EstimateSource.TIME_LIMITS)),
        (RUNS, 50, ExpectedDuration(50, 50, 50, EstimateSource.TIME_LIMITS)),
    ],
)
def test_measured_durations_go_before_the_time_limit_which_only_cuts_off(
    runs: DurationRange | None, limit: int | None, expected: ExpectedDuration
) -> None:
    assert expected_duration(runs, limit) == expected


def test_only_the_newest_finished_jobs_of_a_kind_are_looked_at(cluster: Cluster) -> None:
    training = a_training(cluster, a_workspace(cluster))
    now = cluster.clock()
    for seconds in (9000, *range(10, 10 + RUNS_PER_KIND)):
        ran = {"started_at": now - timedelta(seconds=seconds), "ended_at": now}
        a_job(cluster, training, state=JobState.FINISHED, **ran)
    failed = {"started_at": now - timedelta(hours=5), "ended_at": now}
    a_job(cluster, training, state=JobState.FAILED, **failed)
    with cluster.store.read() as session:
        assert read_durations_of_kind(session, training.id, 1) == DurationRange(10.0, 12.0, 14.0)
        assert read_durations_of_kind(session, training.id, 2) is None
