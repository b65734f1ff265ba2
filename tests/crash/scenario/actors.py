"""The actors of a scenario: a client of the portal, the nodes' agents, one scheduler; they read the world's clock."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from sqlalchemy import select

import worker.scheduling.reconciler
from cluster.domain.states import JobState
from cluster.store.jobs import Job
from tests.crash.installation import Ground, beat
from worker.executors.simulated import SimulatedExecutor
from worker.executors.simulated_cluster import SimulatedCluster
from worker.scheduling.loop import SchedulerLoop, Wakeup

STEP_SECONDS = 1.0
BEAT_STEPS = 4


@dataclass
class WorldsTime:
    """Stands in for the module `time` in the loops."""

    world: SimulatedCluster

    def monotonic(self) -> float:
        return self.world.now()

    def sleep(self, seconds: float) -> None:
        self.world.advance_clock(seconds)

    def time(self) -> float:
        return self.world.now()


class CountedWaits(Wakeup):
    """Between two looks of the scheduler a step of time passes and agents report; after so many it ends."""

    def __init__(self, ground: Ground, end: Callable[[], object]) -> None:
        self.ground, self.end = ground, end
        self.left = 0
        self.may_end_early = False

    def skip_to_newest(self) -> None:
        pass

    def wake(self) -> None:
        pass

    def is_over(self) -> bool:
        with self.ground.cluster.store.read() as session:
            holding = [JobState.STARTING, JobState.RUNNING, JobState.STOPPING]
            living = session.scalars(select(Job).where(Job.state.in_([JobState.WAITING, *holding]))).all()
            return all(
                job.state is JobState.WAITING and job.waiting_code == "waiting.workspace_expired"
                for job in living
            )

    def wait(self, seconds: float, *others: Any) -> bool:
        self.ground.world.advance_clock(STEP_SECONDS)
        if round(self.ground.world.now()) % BEAT_STEPS == 0:
            beat(self.ground.cluster, self.ground.world)
        self.left -= 1
        if self.left <= 0 or self.may_end_early and self.is_over():
            self.end()
        return True


@dataclass
class Stage:
    """In one process that a test may kill: what it has in memory is lost then, as it should be."""

    of_now: ClassVar[list["Stage"]] = []
    """The one of this process."""
    ground: Ground
    jobs: dict[str, int] = field(default_factory=dict)
    sweep: int = 0
    scheduler: SchedulerLoop = field(init=False)

    def __post_init__(self) -> None:
        Stage.of_now[:] = [self]
        clock: Any = WorldsTime(self.ground.world)
        worker.scheduling.reconciler.time = clock
        self.ears = CountedWaits(self.ground, lambda: self.scheduler.stopping.set())
        executor = SimulatedExecutor(self.ground.world)
        self.scheduler = SchedulerLoop(
            self.ground.cluster, executor, Path("/runtime"), self.ears, self.ground.world.now
        )
        self.ground.world.name_of = self.name_of
        for told in self.ground.journal.read():
            if told["event"] == "acknowledged":
                self.jobs[told["key"]] = told["job"]
            elif told["event"] == "sweep acknowledged":
                self.sweep = told["sweep"]

    def name_of(self, job: int) -> str:
        with self.ground.cluster.store.read() as session:
            return session.get_one(Job, job).name

    def run(self, steps: int, may_end_early: bool = False) -> None:
        """The scheduler's own loop for so many steps of time, or until nothing has units or is being stopped."""
        self.ears.left, self.ears.may_end_early = steps, may_end_early
        self.scheduler.stopping.clear()
        self.scheduler.run()

    def post(self, path: str, body: dict[str, Any] | None = None, key: str = "") -> Any:
        headers = {"Authorization": f"Bearer {self.ground.token}"} | ({"Idempotency-Key": key} if key else {})
        return self.ground.app.test_client().post(f"/api/v1{path}", json=body or {}, headers=headers)

    def submit(self, key: str, training: int, units: int, **fields: Any) -> None:
        """As a client who asks again with the same key until it is answered."""
        launcher = "plain" if units == 1 else "horovod"
        body = {"training_id": training, "name": key, "units": units, "command": ["train.py"]}
        answer = self.post("/jobs", {**body, "launcher": launcher, **fields}, key=key)
        if answer.status_code == 503:  # Asked again, as the answer says.
            answer = self.post("/jobs", {**body, "launcher": launcher, **fields}, key=key)
        assert answer.status_code == 201, answer.text
        job = answer.json["id"]
        self.ground.journal.tell("acknowledged", key=key, job=job)
        self.jobs[key] = job

    def stop(self, key: str) -> None:
        """409 where it has ended already: nothing to stop."""
        answer = self.post(f"/jobs/{self.jobs[key]}/stop")
        assert answer.status_code in (202, 409), answer.text
        self.ground.journal.tell("stop acknowledged", job=self.jobs[key], refused=answer.status_code == 409)
