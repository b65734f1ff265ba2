"""Units are given once, reasons are written when they change, stale holders change nothing."""

from datetime import timedelta

from sqlalchemy import select

from cluster.domain.errors import Conflict
from cluster.domain.jobs.attempts import AttemptOutcome
from cluster.domain.jobs.exits import ExitRecord
from cluster.domain.states import AttemptState, DatasetState, DesiredState, JobState
from cluster.services.context import Cluster
from cluster.services.jobs import attempts
from cluster.services.jobs.live_attempts import list_live_attempts
from cluster.services.jobs.stop_requests import stop_job
from cluster.services.leases import HeldLease
from cluster.services.queue.dispatch import place_waiting_jobs
from cluster.store.datasets import Dataset
from cluster.store.jobs import Job, JobEvent, Sweep
from cluster.store.nodes import Allocation
from tests.builders import a_dataset, a_job, a_node, a_training, a_user, a_workspace, actor_of, add
from tests.conftest import Clock, RecordingBell
from tests.simultaneous_calls import at_once
from tests.store.conftest import FINISHED, job_of


def events_of(cluster: Cluster, job: Job) -> list[str]:
    with cluster.store.read() as session:
        query = select(JobEvent.code).where(JobEvent.job_id == job.id).order_by(JobEvent.id)
        return list(session.scalars(query))


def held_units(cluster: Cluster) -> int:
    with cluster.store.read() as session:
        return len(session.scalars(select(Allocation).where(Allocation.ended_at.is_(None))).all())


def test_two_of_three_jobs_get_units_and_one_has_a_reason(
    cluster: Cluster, held: HeldLease, bell: RecordingBell
) -> None:
    a_node(cluster, units=2, name="node-a")
    training = a_training(cluster, a_workspace(cluster, units=3))
    jobs = [a_job(cluster, training, units=1) for _ in range(3)]
    assert len(place_waiting_jobs(cluster, held)) == 2
    first, second, third = (job_of(cluster, job) for job in jobs)
    assert [first.state, second.state, third.state] == [
        JobState.STARTING,
        JobState.STARTING,
        JobState.WAITING,
    ]
    assert (first.fence, first.dispatched_at, first.waiting_code) == (1, cluster.clock(), None)
    assert third.waiting_code == "waiting.not_enough_units"
    assert third.waiting_data and third.waiting_data["node"] == "node-a"
    assert events_of(cluster, first) == ["job.placed"]
    assert events_of(cluster, third) == ["waiting.not_enough_units"]
    assert ("jobs", third.id) in bell.rung and ("queue", 0) in bell.rung


def test_a_queue_without_news_writes_nothing(cluster: Cluster, held: HeldLease, bell: RecordingBell) -> None:
    a_node(cluster, units=1)
    training = a_training(cluster, a_workspace(cluster))
    for _ in range(2):
        a_job(cluster, training)
    place_waiting_jobs(cluster, held)
    bell.rung.clear()
    assert place_waiting_jobs(cluster, held) == []
    assert bell.rung == []


def test_the_same_kind_of_reason_is_written_once(
    cluster: Cluster, held: HeldLease, bell: RecordingBell
) -> None:
    """Numbers in the sentence are those of the moment in which somebody reads it."""
    a_node(cluster, units=2)
    workspace = a_workspace(cluster)
    training = a_training(cluster, workspace)
    dataset = a_dataset(cluster, workspace, state=DatasetState.PREPARING)
    job = a_job(cluster, training, dataset_id=dataset.id)
    place_waiting_jobs(cluster, held)
    assert events_of(cluster, job) == ["waiting.dataset_not_ready"]
    bell.rung.clear()
    with cluster.store.write() as session:
        session.get_one(Dataset, dataset.id).name = "other"
    place_waiting_jobs(cluster, held)
    assert (events_of(cluster, job), bell.rung) == (["waiting.dataset_not_ready"], [])
    with cluster.store.write() as session:
        session.get_one(Dataset, dataset.id).state = DatasetState.FAILED
    place_waiting_jobs(cluster, held)
    assert events_of(cluster, job) == ["waiting.dataset_not_ready", "waiting.dataset_failed"]
    assert job_of(cluster, job).waiting_code == "waiting.dataset_failed"


def test_only_the_front_of_a_line_gets_a_reason_of_its_own(cluster: Cluster, held: HeldLease) -> None:
    a_node(cluster, units=1)
    training = a_training(cluster, a_workspace(cluster, units=1))
    _, front, behind = (a_job(cluster, training) for _ in range(3))
    place_waiting_jobs(cluster, held)
    assert events_of(cluster, front) == ["waiting.quota_used"]
    assert (events_of(cluster, behind), job_of(cluster, behind).waiting_code) == ([], None)


def test_jobs_pass_a_front_that_waits_for_its_data(cluster: Cluster, held: HeldLease) -> None:
    """However many of them stand there: the first of every other kind are looked for behind them."""
    a_node(cluster, units=1)
    workspace = a_workspace(cluster, units=1)
    training = a_training(cluster, workspace)
    dataset = a_dataset(cluster, workspace, state=DatasetState.PREPARING)
    for _ in range(5):
        a_job(cluster, training, dataset_id=dataset.id)
    ready = a_job(cluster, training)
    assert len(place_waiting_jobs(cluster, held)) == 1
    assert job_of(cluster, ready).state is JobState.STARTING


def test_a_held_job_is_passed_and_given_nothing(cluster: Cluster, held: HeldLease) -> None:
    a_node(cluster, units=1)
    training = a_training(cluster, a_workspace(cluster, units=1))
    on_hold = a_job(cluster, training, held_at=cluster.clock())
    other = a_job(cluster, training)
    assert len(place_waiting_jobs(cluster, held)) == 1
    assert job_of(cluster, on_hold).state is JobState.WAITING
    assert job_of(cluster, other).state is JobState.STARTING


def test_a_sweep_runs_only_so_many_at_once(cluster: Cluster, held: HeldLease) -> None:
    a_node(cluster, units=4)
    workspace = a_workspace(cluster, units=4)
    training = a_training(cluster, workspace)
    sweep = Sweep(
        workspace_id=workspace.id, training_id=training.id, user_id=workspace.manager_id, name="grid",
        plan={}, jobs=4, most_at_once=2, submitted_at=cluster.clock(),
    )  # fmt: skip
    add(cluster, sweep)
    mine = [a_job(cluster, training, sweep_id=sweep.id) for _ in range(6)]
    other = a_job(cluster, training)
    assert len(place_waiting_jobs(cluster, held)) == 3
    assert [job_of(cluster, job).state for job in (*mine[:2], other)] == [JobState.STARTING] * 3
    assert job_of(cluster, mine[2]).waiting_code == "waiting.sweep_limit"
    assert place_waiting_jobs(cluster, held) == []


def running(cluster: Cluster, held: HeldLease, units: int = 1) -> tuple[Job, int]:
    a_node(cluster, units=2)
    job = a_job(cluster, a_training(cluster, a_workspace(cluster)), units=units)
    (attempt_id,) = place_waiting_jobs(cluster, held)
    assert attempts.record_starting(cluster, held, {attempt_id: None})
    assert attempts.record_running(cluster, held, {attempt_id: {"pid": 7}})
    return job, attempt_id


def test_an_attempt_goes_from_placed_to_its_end(cluster: Cluster, held: HeldLease, clock: Clock) -> None:
    job, attempt_id = running(cluster, held, units=2)
    began = clock.now
    (living,) = list_live_attempts(cluster)
    assert (living.attempt_id, living.number, living.fence) == (attempt_id, 1, 1)
    assert (living.state, living.desired) == (AttemptState.RUNNING, DesiredState.RUN)
    assert held_units(cluster) == 2
    clock.move(seconds=30)
    truth = ExitRecord(
        job.id, 1, 1, 0, ended_at=clock.now - timedelta(seconds=1), cpu_seconds=2.5, max_rss_bytes=9
    )
    assert attempts.record_end(cluster, held, attempts.AttemptEnd(attempt_id, FINISHED, truth))
    ended = job_of(cluster, job)
    assert (ended.state, ended.exit_code, ended.end_code) == (JobState.FINISHED, 0, "exit.finished")
    assert (ended.started_at, ended.ended_at) == (began, clock.now - timedelta(seconds=1))
    assert (ended.cpu_seconds, ended.max_memory_bytes) == (2.5, 9)
    assert held_units(cluster) == 0 and list_live_attempts(cluster) == []
    assert events_of(cluster, job) == ["job.placed", "job.started", "exit.finished"]


def test_an_end_is_recorded_once(cluster: Cluster, held: HeldLease) -> None:
    job, attempt_id = running(cluster, held)
    assert attempts.record_end(cluster, held, attempts.AttemptEnd(attempt_id, FINISHED))
    failed = AttemptOutcome(JobState.FAILED, "exit.error", {}, 1)
    assert not attempts.record_end(cluster, held, attempts.AttemptEnd(attempt_id, failed))
    assert job_of(cluster, job).state is JobState.FINISHED


def test_a_forged_end_in_the_future_or_past_is_brought_back(
    cluster: Cluster, held: HeldLease, clock: Clock
) -> None:
    job, attempt_id = running(cluster, held)
    clock.move(seconds=5)
    truth = ExitRecord(job.id, 1, 1, 0, ended_at=clock.now + timedelta(days=9))
    attempts.record_end(cluster, held, attempts.AttemptEnd(attempt_id, FINISHED, truth))
    assert job_of(cluster, job).ended_at == clock.now


def test_an_interrupted_job_waits_again_and_gets_a_new_fence(cluster: Cluster, held: HeldLease) -> None:
    job, attempt_id = running(cluster, held)
    cause = "interrupted.node_rebooted"
    assert attempts.record_interruption(cluster, held, attempt_id, cause, {"attempt": 1})
    waiting = job_of(cluster, job)
    assert (waiting.state, waiting.waiting_code) == (JobState.WAITING, "waiting.interrupted")
    assert waiting.waiting_data and waiting.waiting_data["cause"] == cause
    assert waiting.waiting_data["node"].startswith("node-")
    assert held_units(cluster) == 0
    assert len(place_waiting_jobs(cluster, held)) == 1
    assert job_of(cluster, job).fence == 2
    assert not attempts.record_end(cluster, held, attempts.AttemptEnd(attempt_id, FINISHED))


def test_an_interrupted_job_that_was_to_stop_is_stopped(cluster: Cluster, held: HeldLease) -> None:
    job, attempt_id = running(cluster, held)
    minji = a_user(cluster, "minji")
    with cluster.store.write() as session:
        row = session.get_one(Job, job.id)
        row.desired, row.state, row.stopped_by = DesiredState.STOP, JobState.STOPPING, minji.id
    attempts.record_interruption(cluster, held, attempt_id, "interrupted.node_rebooted", {})
    stopped = job_of(cluster, job)
    assert (stopped.state, stopped.end_code, stopped.end_data) == (
        JobState.STOPPED,
        "exit.stopped",
        {"by": "minji"},
    )


def test_a_job_that_is_to_stop_gets_no_units(cluster: Cluster, held: HeldLease) -> None:
    a_node(cluster)
    a_job(cluster, a_training(cluster, a_workspace(cluster)), desired=DesiredState.STOP)
    assert place_waiting_jobs(cluster, held) == []


def test_a_stop_and_an_end_at_the_same_moment_leave_one_final_state(
    cluster: Cluster, held: HeldLease
) -> None:
    manager = a_user(cluster)
    workspace = a_workspace(cluster, manager=manager)
    training = a_training(cluster, workspace)
    a_node(cluster, units=2)
    for _ in range(8):
        job = a_job(cluster, training)
        (attempt_id,) = place_waiting_jobs(cluster, held)
        attempts.record_running(cluster, held, {attempt_id: {}})
        stopped, ended = at_once(
            lambda job=job: stop_job(cluster, actor_of(manager), job.id),
            lambda attempt_id=attempt_id: attempts.record_end(
                cluster, held, attempts.AttemptEnd(attempt_id, FINISHED)
            ),
        )
        assert ended == [attempt_id]
        assert isinstance(stopped, Job | Conflict)
        row = job_of(cluster, job)
        assert (row.state, row.end_code) == (JobState.FINISHED, "exit.finished")
        assert held_units(cluster) == 0
