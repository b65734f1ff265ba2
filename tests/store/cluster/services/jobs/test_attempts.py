"""A failed job with tries left waits again; its use is summed over all its attempts."""

from datetime import timedelta

import pytest
from sqlalchemy import select

from cluster.domain.jobs.attempts import AttemptOutcome
from cluster.domain.jobs.exits import ExitRecord
from cluster.domain.jobs.headline_metric import HeadlineMetric, Objective
from cluster.domain.jobs.resume_points import ResumePoint
from cluster.domain.states import DesiredState, JobState
from cluster.services.context import Cluster
from cluster.services.jobs import attempts
from cluster.services.jobs.live_attempts import list_live_attempts
from cluster.services.leases import HeldLease, acquire_lease
from cluster.services.queue.dispatch import place_waiting_jobs
from cluster.store.jobs import Attempt, Job, JobEvent, Sweep, headline_columns
from cluster.store.nodes import Allocation
from tests.builders import a_job, a_node, a_training, a_workspace, add
from tests.conftest import Clock
from tests.store.conftest import FINISHED, job_of

FAILED = AttemptOutcome(JobState.FAILED, "exit.error", {"exit_code": 1}, 1)


def a_run(cluster: Cluster, held: HeldLease, job: Job) -> int:
    (attempt_id,) = place_waiting_jobs(cluster, held)
    attempts.record_starting(cluster, held, {attempt_id: None})
    attempts.record_running(cluster, held, {attempt_id: {"pid": 7}})
    return attempt_id


def a_job_with_tries(cluster: Cluster, retries: int, **columns: object) -> Job:
    a_node(cluster, units=2)
    return a_job(cluster, a_training(cluster, a_workspace(cluster)), retries=retries, **columns)


def test_a_failed_job_is_tried_again_until_its_tries_are_used_up(cluster: Cluster, held: HeldLease) -> None:
    job = a_job_with_tries(cluster, retries=1)
    resume = ResumePoint(1, "epoch-0003.weights.h5", 3, 120)
    assert attempts.record_end(
        cluster, held, attempts.AttemptEnd(a_run(cluster, held, job), FAILED, resume=resume)
    )
    waiting = job_of(cluster, job)
    assert (waiting.state, waiting.retries_used, waiting.ended_at) == (JobState.WAITING, 1, None)
    assert waiting.resume_from == "1/epoch-0003.weights.h5"
    assert waiting.waiting_code == "waiting.tried_again"
    attempts.record_end(cluster, held, attempts.AttemptEnd(a_run(cluster, held, job), FAILED))
    ended = job_of(cluster, job)
    assert (ended.state, ended.exit_code, ended.retries_used) == (JobState.FAILED, 1, 1)
    with cluster.store.read() as session:
        assert session.scalars(select(Allocation).where(Allocation.ended_at.is_(None))).all() == []
        codes = session.scalars(select(JobEvent.code).where(JobEvent.job_id == job.id).order_by(JobEvent.id))
        assert list(codes) == [
            "job.placed",
            "job.started",
            "waiting.tried_again",
            "job.placed",
            "job.started",
            "exit.error",
        ]


def test_a_stop_wins_over_tries_that_are_left(cluster: Cluster, held: HeldLease) -> None:
    job = a_job_with_tries(cluster, retries=5)
    attempt_id = a_run(cluster, held, job)
    with cluster.store.write() as session:
        row = session.get_one(Job, job.id)
        row.desired, row.state = DesiredState.STOP, JobState.STOPPING
    attempts.record_end(cluster, held, attempts.AttemptEnd(attempt_id, FAILED))
    assert job_of(cluster, job).state is JobState.FAILED


def test_an_interruption_uses_up_no_try(cluster: Cluster, held: HeldLease) -> None:
    job = a_job_with_tries(cluster, retries=1)
    cause = "interrupted.node_lost"
    attempts.record_interruption(cluster, held, a_run(cluster, held, job), cause, {"attempt": 1})
    assert (job_of(cluster, job).state, job_of(cluster, job).retries_used) == (JobState.WAITING, 0)


def test_what_it_goes_on_from_stands_in_the_attempt_and_in_the_history(
    cluster: Cluster, held: HeldLease
) -> None:
    job = a_job_with_tries(cluster, retries=0)
    (attempt_id,) = place_waiting_jobs(cluster, held)
    attempts.record_starting(cluster, held, {attempt_id: ResumePoint(1, "epoch-0002.weights.h5", 2)})
    with cluster.store.read() as session:
        assert session.get_one(Attempt, attempt_id).resumed_from == "1/epoch-0002.weights.h5"
        event = session.scalars(select(JobEvent).where(JobEvent.code == "job.resumed")).one()
    assert event.data == {"epoch": 2, "from_attempt": 1, "attempt": 1} and event.job_id == job.id


def test_use_is_summed_over_attempts(cluster: Cluster, held: HeldLease, clock: Clock) -> None:
    job = a_job_with_tries(cluster, retries=1)
    first = a_run(cluster, held, job)
    clock.move(seconds=15)
    used = ExitRecord(cpu_seconds=10.0, max_rss_bytes=500, average_rss_bytes=100, unit_seconds_used=8.0)
    attempts.record_interruption(cluster, held, first, "interrupted.shim_lost", {}, used)
    second = a_run(cluster, held, job)
    clock.move(seconds=5)
    truth = ExitRecord(
        job.id, 2, 2, 0, cpu_seconds=2.5, max_rss_bytes=900, average_rss_bytes=300, unit_seconds_used=2.0
    )
    attempts.record_end(cluster, held, attempts.AttemptEnd(second, FINISHED, truth))
    ended = job_of(cluster, job)
    assert (ended.cpu_seconds, ended.unit_seconds_used, ended.max_memory_bytes) == (12.5, 10.0, 900)
    assert ended.average_memory_bytes == 150
    with cluster.store.read() as session:
        assert session.get_one(Attempt, first).average_memory_bytes == 100


@pytest.mark.parametrize("late", [FINISHED, FAILED])
def test_what_a_fenced_attempt_says_later_changes_nothing(
    cluster: Cluster, held: HeldLease, late: AttemptOutcome
) -> None:
    job = a_job_with_tries(cluster, retries=1)
    lost = a_run(cluster, held, job)
    attempts.record_interruption(cluster, held, lost, "interrupted.node_lost", {"attempt": 1})
    second = a_run(cluster, held, job)
    assert not attempts.record_end(cluster, held, attempts.AttemptEnd(lost, late))
    assert job_of(cluster, job).state is JobState.RUNNING
    assert [living.attempt_id for living in list_live_attempts(cluster)] == [second]
    assert acquire_lease(cluster, "scheduler", "one", timedelta(seconds=10))


@pytest.mark.parametrize(("stops_on_trouble", "expected"), [(True, [True, False]), (False, [False, False])])
def test_a_sweep_is_stopped_once_by_its_first_trouble(
    cluster: Cluster, stops_on_trouble: bool, expected: list[bool]
) -> None:
    training = a_training(cluster, a_workspace(cluster))
    sweep = Sweep(
        workspace_id=training.workspace_id, training_id=training.id, user_id=training.owner_id, name="many",
        plan={}, jobs=2, stop_on_trouble=stops_on_trouble, submitted_at=cluster.clock(),
    )  # fmt: skip
    add(cluster, sweep)
    with cluster.store.write() as session:
        marked = [
            attempts.mark_sweep_stopped(session, sweep.id, cluster.clock(), cause, {"job": 7})
            for cause in ("sweep.crash", "sweep.nan")
        ]
    assert marked == expected
    with cluster.store.read() as session:
        row = session.get_one(Sweep, sweep.id)
        stopped = ("sweep.crash", {"job": 7}, cluster.clock(), True)
        assert (row.stop_code, row.stop_data, row.stopped_at, row.stopping) == (
            stopped if stops_on_trouble else (None, None, None, False)
        )


def test_the_end_records_the_headline_metric_and_keeps_a_known_one(cluster: Cluster, held: HeldLease) -> None:
    a_node(cluster, units=2)
    training = a_training(cluster, a_workspace(cluster))
    job = a_job(cluster, training)
    truth = ExitRecord(results={"loss/train": (1, 3, 2), "bleu": (10, 30, 20)}, objective=Objective("bleu"))
    attempts.record_end(cluster, held, attempts.AttemptEnd(a_run(cluster, held, job), FINISHED, truth))
    assert job_of(cluster, job).headline == HeadlineMetric("bleu", 30, is_best=True)
    known = a_job(cluster, training, **headline_columns(HeadlineMetric("bleu", 12, is_best=True)))
    attempts.record_end(
        cluster, held, attempts.AttemptEnd(a_run(cluster, held, known), FINISHED, ExitRecord())
    )
    assert job_of(cluster, known).headline == HeadlineMetric("bleu", 12, is_best=True)


def test_the_objective_of_the_training_counts_if_the_program_names_none(
    cluster: Cluster, held: HeldLease
) -> None:
    a_node(cluster, units=2)
    workspace = a_workspace(cluster)
    training = a_training(cluster, workspace, objective_metric="loss/train", objective_is_lower_better=True)
    results = {"accuracy/validation": (0.1, 0.3, 0.2), "loss/train": (1, 3, 2)}
    for objective, expected in (
        (None, HeadlineMetric("loss/train", 1, is_best=True, lower_is_better=True)),
        (Objective("accuracy/validation"), HeadlineMetric("accuracy/validation", 0.3, is_best=True)),
    ):
        job = a_job(cluster, training)
        truth = ExitRecord(results=results, objective=objective)
        attempts.record_end(cluster, held, attempts.AttemptEnd(a_run(cluster, held, job), FINISHED, truth))
        assert job_of(cluster, job).headline == expected
