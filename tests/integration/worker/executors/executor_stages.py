"""One stage per executor plays the contract suite, and holds the little that differs between them.

A new executor brings a stage: how a plan is made for an act, how it is opened a second time, how its shim
is killed, how it is made silent (None where that cannot happen), how time passes.
"""

import itertools
import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from cluster.domain.jobs.attempts import ObservedState
from cluster.domain.jobs.exits import ExitRecord
from tests.integration.worker.executors.program_actions import Act
from tests.start_plans import a_start_plan, change_plan
from worker.adapters.docker_engine import DockerEngine
from worker.executors.contract import Executor, Handle, StartPlan
from worker.executors.docker import DockerExecutor
from worker.executors.path_mapping import ContainerPaths, HostPaths, PathMapping
from worker.executors.process import ProcessExecutor
from worker.executors.shim_systemd_unit import SystemdShimStarter
from worker.executors.simulated import Behaviour, SimulatedCluster, SimulatedExecutor

PYTHON = "/usr/bin/python3"
UID, GID = 190_001, 190_001
IS_ROOT = os.geteuid() == 0
AS_UNITS = os.environ.get("GROUNDCREW_TEST_LAUNCHER") == "systemd"
"""Each shim a transient unit: on hosts where systemd is process 1 (tests/hosts/appliance/test_jobs_as_units.py)."""
UNIT_NUMBERS = itertools.count(1)
"""A name of a unit is used once: systemd forgets the last one a moment after its end."""


class Stage(Protocol):
    executor: Executor
    ground: Path

    def plan(self, act: Act, **changes: Any) -> StartPlan: ...

    def open_again(self) -> Executor:
        """As a new scheduler does."""
        ...

    def lose_shim(self, plan: StartPlan, handle: Handle) -> None: ...

    def silent(self, plan: StartPlan) -> Executor | None:
        """One that cannot be asked about this attempt now; None where the executor is always there."""
        ...

    def now(self) -> float: ...

    def pass_time(self) -> None: ...

    def close(self) -> None: ...


def until(
    stage: Stage, condition: Callable[[], Any], seconds: float = 60.0, what: str = "the condition"
) -> Any:
    """The condition's first true value; fails after so many seconds of the stage's time."""
    deadline = stage.now() + seconds
    while not (value := condition()):
        assert stage.now() < deadline, f"not within {seconds} s: {what}"
        stage.pass_time()
    return value


def end_of(stage: Stage, plan: StartPlan, seconds: float = 60.0) -> ExitRecord:
    until(
        stage,
        lambda: stage.executor.read_status(plan.folder).observed is ObservedState.ENDED,
        seconds,
        "the run's end",
    )
    truth = stage.executor.read_exit_record(plan.folder)
    assert truth is not None, (plan.folder / "control" / "shim.log").read_text()
    return truth


@dataclass
class RealStage:
    """What programs of this machine need: a storage that job users may enter, and the installed runtime."""

    ground: Path
    runtime: Path
    numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    def view(self) -> PathMapping:
        return HostPaths()

    image: str | None = None

    def plan_for(
        self, *program: str, job: int | None = None, code: Path | None = None, **changes: Any
    ) -> StartPlan:
        job = job or next(self.numbers)
        jobs = self.ground / "storage" / "workspaces" / "1" / "jobs"
        folder = jobs / str(job) / "1"
        jobs.mkdir(mode=0o755, parents=True, exist_ok=True)
        for each in (self.ground / "storage", self.ground / "storage" / "workspaces"):
            each.chmod(0o711)
        view = self.view()
        runtime, inside = view.map_runtime(self.runtime), view.map_attempt(folder)
        environment = {
            "PATH": "/usr/bin:/bin",
            "HOME": str(inside / "out"),
            "GROUNDCREW_OUT": str(inside / "out"),
            "PYTHONPATH": str(runtime),
        }
        seen_code = view.map_path(code, "code") if code else None
        plan = a_start_plan(
            job,
            1,
            folder,
            (PYTHON, f"{runtime}/shim_rank.py", "--", *program),
            environment,
            code=seen_code,
            uid=UID if IS_ROOT else None,
            gid=GID if IS_ROOT else None,
            image=self.image,
            mounts=tuple(view.mounts),
            folder_inside=inside,
        )
        return change_plan(plan, **changes)

    def plan(self, act: Act, **changes: Any) -> StartPlan:
        job = next(self.numbers)
        return self.plan_for(*act.argv(PYTHON, job), job=job, **changes)

    def now(self) -> float:
        return time.monotonic()

    def pass_time(self) -> None:
        time.sleep(0.02)


@dataclass
class ProcessStage(RealStage):
    executor: Executor = field(init=False)

    def __post_init__(self) -> None:
        if AS_UNITS:
            self.numbers = UNIT_NUMBERS
        self.executor = self.open_again()

    def open_again(self) -> Executor:
        return ProcessExecutor(
            self.runtime, self.ground / "storage", SystemdShimStarter() if AS_UNITS else None
        )

    def lose_shim(self, plan: StartPlan, handle: Handle) -> None:
        os.kill(handle["pid"], signal.SIGKILL)

    def silent(self, plan: StartPlan) -> Executor | None:
        return None

    def close(self) -> None:
        for run in self.executor.list_running():
            self.executor.kill(run.handle)


@dataclass
class DockerStage(RealStage):
    executor: DockerExecutor = field(init=False)
    socket: Path = Path("/var/run/docker.sock")
    engines: list[DockerEngine] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.executor = self.open_again()

    def view(self) -> PathMapping:
        return ContainerPaths()

    def open_again(self) -> DockerExecutor:
        self.engines.append(DockerEngine(str(self.socket)))
        return DockerExecutor(self.engines[-1], self.ground / "storage")

    def lose_shim(self, plan: StartPlan, handle: Handle) -> None:
        self.executor.engine.signal(handle["container"], "SIGKILL")

    def silent(self, plan: StartPlan) -> Executor | None:
        return DockerExecutor(DockerEngine("/nonexistent/docker.sock"), self.ground / "storage")

    def close(self) -> None:
        for run in self.executor.list_running():
            self.executor.kill(run.handle)
        until(self, lambda: not self.executor.list_running(), what="the end of all containers")
        self.executor.remove_ended_except(())
        for engine in self.engines:
            engine.close()


@dataclass
class SimulatedStage:
    ground: Path
    numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    def __post_init__(self) -> None:
        self.world = SimulatedCluster(self.ground / "world")
        self.world.advance_clock(0)
        self.executor: Executor = SimulatedExecutor(self.world)

    def plan(self, act: Act, **changes: Any) -> StartPlan:
        job = next(self.numbers)
        behaviour = Behaviour(
            seconds=act.seconds,
            stdout=act.says,
            exit_code=0 if act.forges else act.exit_code,
            stop_output=act.last_words,
            ignores_stop=act.ignores_stop,
            executor_exit_code=137 if act.forges else None,
        )
        self.world.set_behaviour(behaviour, job)
        folder = self.ground / "storage" / "workspaces" / "1" / "jobs" / str(job) / "1"
        plan = a_start_plan(job, 1, folder, ("nothing",), {}, nodes=("node-1", "node-2"))
        return change_plan(plan, **changes)

    def open_again(self) -> Executor:
        return SimulatedExecutor(SimulatedCluster(self.ground / "world"))

    def lose_shim(self, plan: StartPlan, handle: Handle) -> None:
        self.world.lose_shim(plan.job, plan.attempt)

    def silent(self, plan: StartPlan) -> Executor | None:
        self.world.cut_network("node-2")
        return self.executor

    def now(self) -> float:
        return self.world.now()

    def pass_time(self) -> None:
        self.world.advance_clock(0.25)

    def close(self) -> None:
        """Nothing of it runs."""


@contextmanager
def stage_of(name: str, ground: Path, runtime: Path, image: Callable[[], str]) -> Iterator[Stage]:
    stage: Stage
    if name == "process":
        stage = ProcessStage(ground, runtime)
    elif name == "docker":
        stage = DockerStage(ground, runtime, image=image())
    else:
        stage = SimulatedStage(ground)
    try:
        yield stage
    finally:
        stage.close()
