"""A reconciler that stood still, or whose disk is full: what others run is left alone, and the loop goes on."""

from collections.abc import Collection
from datetime import timedelta
from pathlib import Path

import pytest
from sqlalchemy import update

from cluster.domain.jobs.attempts import RETRY_START_AFTER, ObservedState
from cluster.domain.jobs.exits import Disruption, ExitRecord
from cluster.domain.states import DesiredState, JobState, TrainingKind
from cluster.services.context import Cluster
from cluster.services.leases import HeldLease, acquire_lease
from cluster.services.queue.dispatch import place_waiting_jobs
from cluster.services.storage import folders
from cluster.store.jobs import Attempt, Job
from cluster.store.nodes import Node
from tests.builders import a_job, a_node, a_training, a_workspace
from tests.integration.worker.scheduling.conftest import as_environment
from worker.executors.contract import ExecutorUnreachable, RunningAttempt, RunStatus
from worker.executors.process import ProcessExecutor
from worker.executors.simulated import SimulatedCluster, SimulatedExecutor
from worker.scheduling.node_watch import end_orphan_runs
from worker.scheduling.reconciler import LEFTOVER_TRIES, Reconciler


@pytest.fixture
def world(tmp_path: Path) -> SimulatedCluster:
    world = SimulatedCluster(tmp_path / "world")
    world.add_node("node-a")
    return world


@pytest.fixture
def job(light_cluster: Cluster) -> Job:
    as_environment(light_cluster)
    a_node(light_cluster, name="node-a")
    training = a_training(light_cluster, a_workspace(light_cluster), kind=TrainingKind.ADVANCED)
    return a_job(light_cluster, training, command=["train.py"])


def hold(cluster: Cluster, name: str) -> HeldLease:
    held = acquire_lease(cluster, name, "me", timedelta(hours=1))
    assert held is not None
    return held


class Overtaken(SimulatedExecutor):
    """While this scheduler asks what runs, another one has taken over and starts a job."""

    cluster: Cluster
    folder: Path

    def list_running(self) -> list[RunningAttempt]:
        other = Reconciler(self.cluster, SimulatedExecutor(self.world), self.folder)
        held = hold(self.cluster, "scheduler")
        place_waiting_jobs(self.cluster, held)
        other.reconcile(held)
        return super().list_running()


def test_what_another_scheduler_has_just_started_is_no_stray(
    light_cluster: Cluster, world: SimulatedCluster, job: Job, tmp_path: Path
) -> None:
    executor = Overtaken(world)
    executor.cluster, executor.folder = light_cluster, tmp_path
    assert end_orphan_runs(light_cluster, executor) == 0
    assert [run.job for run in SimulatedExecutor(world).list_running()] == [job.id]


def test_a_start_for_which_no_folder_can_be_made_is_tried_again(
    light_cluster: Cluster, world: SimulatedCluster, job: Job, tmp_path: Path
) -> None:
    """As on a full or broken disk: what lies in the way here is a file."""
    folder = folders.workspace_folder(light_cluster.settings, job.workspace_id)
    folder.parent.mkdir(parents=True)
    folder.touch()
    held, seconds = hold(light_cluster, "scheduler"), [0.0]
    reconciler = Reconciler(light_cluster, SimulatedExecutor(world), tmp_path, lambda: seconds[0])
    attempt_ids = place_waiting_jobs(light_cluster, held)
    assert [reconciler.reconcile(held) for _ in range(2)] == [1, 1]
    assert "a file stands where a folder should" in str(reconciler.start_problems[attempt_ids[0]].data)
    folder.unlink()
    seconds[0] = RETRY_START_AFTER.total_seconds()
    reconciler.reconcile(held)
    assert [run.job for run in SimulatedExecutor(world).list_running()] == [job.id]


def test_a_start_that_cannot_be_forestalled_keeps_its_units_until_it_can(
    light_cluster: Cluster, job: Job, tmp_path: Path
) -> None:
    folder = folders.workspace_folder(light_cluster.settings, job.workspace_id)
    folder.parent.mkdir(parents=True)
    folder.touch()
    held = hold(light_cluster, "scheduler")
    reconciler = Reconciler(light_cluster, ProcessExecutor(tmp_path, tmp_path), tmp_path)
    assert len(place_waiting_jobs(light_cluster, held)) == 1
    with light_cluster.store.write() as session:
        session.get_one(Job, job.id).desired = DesiredState.STOP
        session.get_one(Job, job.id).state = JobState.STOPPING
    assert [reconciler.reconcile(held) for _ in range(2)] == [1, 1]
    folder.unlink()
    reconciler.reconcile(held)
    assert reconciler.reconcile(held) == 0


class Unheard(SimulatedExecutor):
    """A gang that has lost a member, while nobody answers who could end the rest; then that takes its time."""

    answers, left, cleared = False, 0, 0

    def read_status(self, folder: Path) -> RunStatus:
        return RunStatus(ObservedState.ENDED)

    def read_exit_record(self, folder: Path) -> ExitRecord:
        return ExitRecord(disruption=Disruption("interrupted.pod_deleted"))

    def end_leftovers(self, folder: Path, has_ended: bool = False, given_up: Collection[str] = ()) -> int:
        if not self.answers:
            raise ExecutorUnreachable("kubernetes.silent", kubeconfig="scheduler.conf")
        self.cleared += 1
        return self.left


def test_units_are_free_only_once_what_is_left_could_be_ended(
    light_cluster: Cluster, world: SimulatedCluster, job: Job, tmp_path: Path
) -> None:
    held, executor = hold(light_cluster, "scheduler"), Unheard(world)
    reconciler = Reconciler(light_cluster, executor, tmp_path)
    (attempt,) = place_waiting_jobs(light_cluster, held)
    assert [reconciler.reconcile(held) for _ in range(2)] == [1, 1]
    executor.answers, executor.left = True, 1
    for asked in (LEFTOVER_TRIES, LEFTOVER_TRIES + 1, LEFTOVER_TRIES + 2):
        reconciler.reconcile(held)
        with light_cluster.store.read() as session:
            assert session.get_one(Attempt, attempt).end_code is None, "a pod of it still runs"
        assert executor.cleared == asked, "who does not end is waited for once, not at each look"
    executor.left = 0
    reconciler.reconcile(held)
    with light_cluster.store.read() as session:
        assert session.get_one(Attempt, attempt).end_code == "interrupted.pod_deleted"


class HalfHeard(SimulatedExecutor):
    """A gang whose first member has failed. The other one's node no longer answers Kubernetes, since a moment ago."""

    seen = ObservedState.ENDED

    def read_status(self, folder: Path) -> RunStatus:
        return RunStatus(self.seen)

    def read_exit_record(self, folder: Path) -> ExitRecord:
        job, attempt = int(folder.parent.name), int(folder.name)
        return ExitRecord(job=job, attempt=attempt, fence=attempt, exit_code=1)

    def end_leftovers(self, folder: Path, has_ended: bool = False, given_up: Collection[str] = ()) -> int:
        self.seen = ObservedState.UNKNOWN
        return 0 if "node-a" in given_up else 1


def test_units_on_a_silent_node_are_booked_until_it_is_given_up_and_that_is_the_cause(
    light_cluster: Cluster, world: SimulatedCluster, job: Job, tmp_path: Path
) -> None:
    held, executor = hold(light_cluster, "scheduler"), HalfHeard(world)
    reconciler = Reconciler(light_cluster, executor, tmp_path)
    (attempt,) = place_waiting_jobs(light_cluster, held)
    assert [reconciler.reconcile(held) for _ in range(2)] == [1, 1]
    with light_cluster.store.write() as session:
        assert session.get_one(Attempt, attempt).end_code is None, "it may go on there"
        session.execute(update(Node).values(lost_at=light_cluster.clock()))
    reconciler.reconcile(held)
    with light_cluster.store.read() as session:
        assert session.get_one(Attempt, attempt).end_code == "interrupted.node_lost"
