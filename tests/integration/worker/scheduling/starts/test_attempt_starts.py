"""A job whose start is refused again and again ends with the reason, in words."""

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

from cluster import words
from cluster.domain.executors import ExecutorKind
from cluster.domain.jobs.attempts import ObservedState
from cluster.domain.states import JobState, TrainingKind
from cluster.services.context import Cluster
from cluster.services.leases import acquire_lease
from cluster.services.queue.dispatch import place_waiting_jobs
from cluster.store.jobs import Job
from tests.builders import a_job, a_node, a_training, a_workspace
from tests.integration.worker.scheduling.conftest import as_environment
from worker.executors.contract import Handle, NotStarted, RunStatus, StartPlan, StartUnanswered
from worker.executors.simulated import SimulatedCluster, SimulatedExecutor
from worker.scheduling.reconciler import Reconciler


def a_job_for_one_node(cluster: Cluster) -> Job:
    as_environment(cluster)
    a_node(cluster, name="node-a")
    training = a_training(cluster, a_workspace(cluster), kind=TrainingKind.ADVANCED)
    return a_job(cluster, training, command=["train.py"])


def test_a_start_that_nobody_answers_for_has_all_its_time_afterwards(
    light_cluster: Cluster, tmp_path: Path
) -> None:
    """Kubernetes was away for five minutes, and then refused for a while what comes from its operators."""
    job = a_job_for_one_node(light_cluster)
    world, now = SimulatedCluster(tmp_path / "world"), [0.0]
    world.add_node("node-a")
    executor = Away(world)
    reconciler = Reconciler(light_cluster, executor, tmp_path, lambda: now[0])
    held = acquire_lease(light_cluster, "scheduler", "me", timedelta(hours=1))
    assert held is not None and len(place_waiting_jobs(light_cluster, held)) == 1
    for seconds, executor.sees, executor.answers in (
        (0, True, False), (30, False, False), (300, False, False), (301, True, False), (320, True, False),
        (335, True, True),
    ):  # fmt: skip
        now[0] = seconds
        assert reconciler.reconcile(held) == 1, seconds
    assert [run.job for run in SimulatedExecutor(world).list_running()] == [job.id]


class Away(SimulatedExecutor):
    """`sees`: whether it is told what runs; `answers`: whether it can start anything."""

    sees = answers = True

    def read_status(self, folder: Path) -> RunStatus:
        return super().read_status(folder) if self.sees else RunStatus(ObservedState.UNKNOWN)

    def start(self, plan: StartPlan) -> Handle:
        if not self.answers:
            raise StartUnanswered("kubernetes.silent")
        return super().start(plan)


def look_for_a_quarter_hour(cluster: Cluster, executor: SimulatedExecutor, folder: Path) -> None:
    """As long as what is awaited is waited for. The one job that waits is placed before."""
    now = [0.0]
    reconciler = Reconciler(cluster, executor, folder, lambda: now[0])
    held = acquire_lease(cluster, "scheduler", "me", timedelta(hours=1))
    assert held is not None and len(place_waiting_jobs(cluster, held)) == 1
    for minute in range(16):
        now[0] = minute * 60.0
        reconciler.reconcile(held)


def test_what_keeps_an_awaited_one_is_told_when_it_is_given_up(
    light_cluster: Cluster, tmp_path: Path
) -> None:
    job = a_job_for_one_node(light_cluster)
    world = SimulatedCluster(tmp_path / "world")
    world.add_node("node-a")
    look_for_a_quarter_hour(light_cluster, Pulling(world), tmp_path)
    with light_cluster.store.read() as session:
        ended = session.get_one(Job, job.id)
    assert ended.end_code == "exit.not_started"
    said = words.sentence(ended.end_code, ended.end_data)
    assert said == "It could not be started. node-a cannot get image lab:1 from its registry."
    hint = words.hint(ended.end_code, ended.end_data)
    assert "An administrator looks whether the registry answers" in hint and "duplicate the job" in hint


def test_a_gang_that_waits_again_is_told_what_kept_it(light_cluster: Cluster, tmp_path: Path) -> None:
    cluster = replace(
        light_cluster, settings=replace(light_cluster.settings, executor=ExecutorKind.SIMULATED)
    )
    as_environment(cluster)
    world = SimulatedCluster(tmp_path / "world")
    for name in ("node-a", "node-b"):
        a_node(cluster, 1, name=name)
        world.add_node(name)
    training = a_training(cluster, a_workspace(cluster), kind=TrainingKind.ADVANCED)
    job = a_job(cluster, training, command=["train.py"], units=2)
    look_for_a_quarter_hour(cluster, Pulling(world), tmp_path)
    with cluster.store.read() as session:
        waits = session.get_one(Job, job.id)
    assert waits.state is JobState.WAITING and waits.waiting_code == "waiting.interrupted"
    said = words.sentence(waits.waiting_code, waits.waiting_data)
    assert "not be started on all its nodes in time. node-a cannot get image lab:1" in said


class Pulling(SimulatedExecutor):
    """Takes everything up, and an image does not come."""

    def read_status(self, folder: Path) -> RunStatus:
        why = NotStarted("kubernetes.image_not_pulled", image="lab:1", node="node-a")
        return RunStatus(ObservedState.PENDING, start_problem=why)


def test_the_last_refusal_of_a_start_is_told(light_cluster: Cluster, tmp_path: Path) -> None:
    job = a_job_for_one_node(light_cluster)
    world = SimulatedCluster(tmp_path / "world")
    world.add_node("node-a")
    world.cut_network("node-a")
    seconds = iter(range(0, 1000, 20))
    reconciler = Reconciler(light_cluster, SimulatedExecutor(world), tmp_path, lambda: float(next(seconds)))
    held = acquire_lease(light_cluster, "scheduler", "me", timedelta(hours=1))
    assert held is not None
    assert len(place_waiting_jobs(light_cluster, held)) == 1
    while reconciler.reconcile(held):
        pass
    with light_cluster.store.read() as session:
        ended = session.get_one(Job, job.id)
    assert (ended.state, ended.end_code) == (JobState.FAILED, "exit.not_started")
    said = words.sentence(ended.end_code, ended.end_data)
    assert said == "It could not be started. The node could not start it: node-a does not answer."
