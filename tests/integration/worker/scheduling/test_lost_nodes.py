"""Nodes that fall silent, restart or start slowly, under a scheduler and a simulated executor in virtual time."""

import json
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from sqlalchemy import func, select

from cluster.domain.executors import ExecutorKind
from cluster.domain.states import JobState, NodeState, UnitKind
from cluster.services.context import Cluster
from cluster.services.nodes import drains, heartbeats, queries
from cluster.services.nodes.heartbeats import ReportedUnit
from cluster.services.storage import folders
from cluster.store.engine import Store
from cluster.store.jobs import Attempt, Job
from cluster.store.nodes import Allocation, Node
from cluster.store.trainings import Training
from tests.builders import a_job, a_training, a_user, a_workspace, actor_of, an_administrator
from tests.conftest import Clock, RecordingBell, settings_for
from tests.integration.worker.scheduling.conftest import Told, as_environment
from worker.executors.simulated import Behaviour, SimulatedCluster, SimulatedExecutor
from worker.scheduling.cadence import PERIODS, PeriodicWork
from worker.scheduling.loop import SchedulerLoop, Wakeup

STEP = 15.0
"""Nodes are silent after 20 s: one beat a step is in time."""
SLOTS = [ReportedUnit(f"cpu-{position}", UnitKind.CPU_SLOT, position) for position in range(2)]


@dataclass
class Sky(Told):
    """A cluster of simulated nodes with two slots each, whose time only passes when a test lets it."""

    cluster: Cluster
    clock: Clock
    world: SimulatedCluster
    scheduler: SchedulerLoop
    training: Training
    passed: float = 0.0

    def let_pass(self, seconds: float) -> None:
        for _ in range(max(1, int(seconds / STEP))):
            self.advance(STEP)
            self.run_pass()

    def advance(self, seconds: float) -> None:
        self.clock.move(seconds=seconds)
        self.passed += seconds
        self.world.advance_clock(seconds)

    def look(self) -> None:
        """A pass as soon as every periodic work of nodes is due again."""
        self.advance(PERIODS[PeriodicWork.ORPHAN_RUNS])
        self.run_pass()

    def run_pass(self) -> None:
        """One heartbeat of each node that answers, one pass of the scheduler."""
        for node in self.world.list_answering():
            heartbeats.record_heartbeat(self.cluster, node.name, node.boot, {}, SLOTS)
        if self.scheduler.renew_lease():
            self.scheduler.run_pass()

    def submit(self, units: int, seconds: float = 3600) -> Job:
        self.world.set_behaviour(Behaviour(seconds=seconds))
        job = a_job(self.cluster, self.training, units=units, command=["train.py"])
        self.look()
        return job

    def node_of(self, attempt: Attempt) -> str:
        with self.cluster.store.read() as session:
            return session.get_one(Node, attempt.node_id).name

    def state(self, name: str) -> NodeState:
        views = queries.list_nodes(self.cluster, actor_of(a_user(self.cluster)))
        return next(view.state for view in views if view.name == name)

    def held_units(self) -> int:
        with self.cluster.store.read() as session:
            return session.scalar(select(func.count()).where(Allocation.ended_at.is_(None))) or 0

    def runs(self) -> set[tuple[int, int]]:
        """Everything that lives, also where nobody can reach it."""
        with self.world.lock():
            return {(run.job, run.attempt) for run in self.world.runs()}

    def leave_checkpoint(self, job: Job, attempt: int, epoch: int) -> None:
        folder = folders.attempt_folder(self.cluster.settings, job.workspace_id, job.id, attempt)
        (folder / "out" / "checkpoints").mkdir(exist_ok=True)
        path = folder / "out" / "checkpoints" / f"epoch-{epoch:04d}.weights.h5"
        path.write_bytes(b"weights")
        note = {"epoch": epoch, "step": 10 * epoch, "file": path.name}
        path.with_name(f"epoch-{epoch:04d}.json").write_text(json.dumps(note))


@pytest.fixture
def sky(tmp_path: Path, migrated_file: Path) -> Iterator[Sky]:
    shutil.copy(migrated_file, tmp_path / "groundcrew.db")
    url = f"sqlite:///{tmp_path}/groundcrew.db"
    store, clock = Store(url), Clock()
    settings = replace(settings_for(url, tmp_path), executor=ExecutorKind.SIMULATED)
    cluster = Cluster(store, RecordingBell(), settings, clock)
    as_environment(cluster)
    workspace = a_workspace(cluster, units=8)
    world = SimulatedCluster(tmp_path / "simulated")
    for number in range(4):
        world.add_node(f"gpu{number}")
    world.advance_clock(0)
    sky = Sky(cluster, clock, world, None, a_training(cluster, workspace))  # type: ignore[arg-type]
    ears = Wakeup(None, frozenset())  # type: ignore[arg-type]
    runtime = tmp_path / "runtime"
    sky.scheduler = SchedulerLoop(cluster, SimulatedExecutor(world), runtime, ears, steady=lambda: sky.passed)
    sky.look()
    yield sky
    store.close()


def test_a_short_partition_changes_nothing(sky: Sky) -> None:
    job = sky.submit(2)
    (attempt,) = sky.attempts(job)
    sky.world.cut_network(sky.node_of(attempt))
    sky.let_pass(30)
    assert sky.state(sky.node_of(attempt)) is NodeState.UNREACHABLE
    assert sky.held_units() == 2
    sky.world.restore_network(sky.node_of(attempt))
    sky.let_pass(10)
    assert sky.state(sky.node_of(attempt)) is NodeState.READY
    assert sky.read(job).state is JobState.RUNNING and len(sky.attempts(job)) == 1


def test_a_long_partition_moves_the_job_and_ends_the_old_run_before_the_node_works_again(sky: Sky) -> None:
    job = sky.submit(2, seconds=1200)
    first = sky.attempts(job)[0]
    cut = sky.node_of(first)
    sky.leave_checkpoint(job, 1, epoch=3)
    sky.world.cut_network(cut)
    sky.let_pass(285)
    assert len(sky.attempts(job)) == 1 and sky.held_units() == 2
    sky.let_pass(30)
    assert sky.state(cut) is NodeState.LOST
    first, second = sky.attempts(job)
    assert first.end_code == "interrupted.node_lost" and first.end_data == {"attempt": 1, "node": cut}
    assert second.resumed_from == "1/epoch-0003.weights.h5" and sky.node_of(second) != cut
    assert "job.resumed" in sky.events(job)
    assert sky.held_units() == 2
    assert sky.runs() == {(job.id, 1), (job.id, 2)}  # Nobody can reach the old one yet.
    sky.world.restore_network(cut)
    sky.look()
    assert sky.runs() == {(job.id, 2)}
    sky.let_pass(10)
    assert sky.state(cut) is NodeState.READY
    sky.let_pass(1300)
    assert sky.read(job).state is JobState.FINISHED
    assert [attempt.end_code for attempt in sky.attempts(job)] == ["interrupted.node_lost", "exit.finished"]


def test_a_result_that_comes_late_from_behind_a_partition_is_rejected(sky: Sky) -> None:
    job = sky.submit(2, seconds=400)
    cut = sky.node_of(sky.attempts(job)[0])
    sky.world.cut_network(cut)
    sky.let_pass(320)
    assert [attempt.number for attempt in sky.attempts(job)] == [1, 2]
    sky.world.lose_shim(job.id, 2)  # Even while the second has trouble of its own.
    sky.let_pass(200)
    sky.world.restore_network(cut)
    sky.let_pass(10)
    assert sky.attempts(job)[0].end_code == "interrupted.node_lost"
    assert sky.read(job).state is JobState.RUNNING


def test_a_restarted_node_has_lost_its_jobs_at_once(sky: Sky) -> None:
    job = sky.submit(1)
    node = sky.node_of(sky.attempts(job)[0])
    sky.world.reboot(node)
    sky.let_pass(5)
    first, second = sky.attempts(job)
    assert first.end_code == "interrupted.node_rebooted"
    assert second.ended_at is None and sky.held_units() == 1


def test_a_gang_whose_member_loses_power_frees_everything_once_and_goes_on(sky: Sky) -> None:
    job = sky.submit(8)
    (first,) = sky.attempts(job)
    sky.leave_checkpoint(job, 1, epoch=2)
    assert sky.held_units() == 8
    sky.world.power_off("gpu3")
    sky.let_pass(290)
    assert sky.held_units() == 8
    sky.let_pass(30)
    assert sky.runs() == set()
    assert (sky.read(job).state, sky.held_units()) == (JobState.WAITING, 0)
    sky.world.power_on("gpu3")
    sky.let_pass(30)
    _, second = sky.attempts(job)
    assert second.resumed_from == "1/epoch-0002.weights.h5"
    assert sky.runs() == {(job.id, 2)} and sky.held_units() == 8


def test_a_gang_that_does_not_start_in_time_gives_its_units_back_and_says_why(sky: Sky) -> None:
    sky.world.start_slowly("gpu2", 1000)
    job = sky.submit(8)
    assert sky.held_units() == 8
    sky.let_pass(70)
    assert sky.attempts(job)[0].end_code == "interrupted.start_deadline"
    assert "waiting.interrupted" in sky.events(job)
    assert sky.read(job).ended_at is None


@pytest.mark.parametrize("jump", [10 * 365 * 86400.0, 3600.0, -3600.0])
def test_a_clock_that_is_set_loses_no_node(sky: Sky, jump: float) -> None:
    job = sky.submit(2)
    sky.let_pass(10)
    sky.clock.move(seconds=jump)
    sky.advance(PERIODS[PeriodicWork.LEASE_RENEWAL])
    assert sky.scheduler.renew_lease()
    sky.scheduler.run_pass()  # Before any node has spoken by the new clock.
    sky.let_pass(60)
    assert {sky.state(f"gpu{number}") for number in range(4)} == {NodeState.READY}
    assert sky.read(job).state is JobState.RUNNING and len(sky.attempts(job)) == 1


def test_nothing_new_starts_on_a_drained_node(sky: Sky) -> None:
    chief = actor_of(an_administrator(sky.cluster))
    with sky.cluster.store.read() as session:
        ids = {node.name: node.id for node in session.scalars(select(Node))}
    before = sky.submit(1, seconds=100)
    there = sky.node_of(sky.attempts(before)[0])
    drains.drain_node(sky.cluster, chief, ids[there], "new memory")
    after = [sky.submit(2, seconds=100) for _ in range(3)]
    for job in after:
        assert sky.node_of(sky.attempts(job)[0]) != there
    sky.let_pass(110)
    assert sky.read(before).state is JobState.FINISHED and len(sky.attempts(before)) == 1
