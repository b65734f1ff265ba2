"""Each test of this folder runs against every executor that it is about: see stages.py."""

import functools
import itertools
import json
import os
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from cluster.domain.jobs.attempts import ObservedState
from cluster.domain.jobs.exits import ExitRecord
from tests.containers.image import image_or_skip
from tests.integration.worker.executors.executor_stages import (
    GID,
    IS_ROOT,
    PYTHON,
    UID,
    RealStage,
    Stage,
    stage_of,
)
from worker.executors.contract import Executor, Handle, StartPlan

__all__ = ["GID", "IS_ROOT", "PYTHON", "UID", "Bench", "until"]
MARK = "GC_TEST_MARK"


def until(condition: Callable[[], Any], seconds: float = 60.0, what: str = "") -> Any:
    """The condition's first true value; fails after `seconds`."""
    deadline = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {seconds} s: {what or condition}")
        time.sleep(0.02)


@dataclass
class Bench:
    """Starts real programs under an executor and waits for what becomes of them."""

    stage: RealStage
    executor: Executor
    handles: list[Handle] = field(default_factory=list)
    numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    @property
    def ground(self) -> Path:
        return self.stage.ground

    @property
    def runtime(self) -> Path:
        """Where a program finds it."""
        return self.stage.view().map_runtime(self.stage.runtime)

    def plan(self, *program: str, **changes: Any) -> StartPlan:
        return self.stage.plan_for(*program, **changes)

    def script(self, text: str, **changes: Any) -> StartPlan:
        """A Python program as own code, copied from a code folder as a training's is."""
        code = self.ground / f"code-{next(self.numbers)}"
        code.mkdir()
        (code / "train.py").write_text(text)
        return self.plan(PYTHON, "-u", "train.py", code=code, **changes)

    def start(self, plan: StartPlan) -> Handle:
        handle = self.executor.start(plan)
        self.handles.append(handle)
        return handle

    def run(self, plan: StartPlan, seconds: float = 60.0) -> ExitRecord:
        """Starts it and waits for its end."""
        self.start(plan)
        return self.end_of(plan, seconds)

    def end_of(self, plan: StartPlan, seconds: float = 60.0) -> ExitRecord:
        until(
            lambda: self.executor.read_status(plan.folder).observed is ObservedState.ENDED,
            seconds,
            "the shim's end",
        )
        truth = self.executor.read_exit_record(plan.folder)
        assert truth is not None, self.shim_log(plan)
        return truth

    def shim_log(self, plan: StartPlan) -> str:
        return (plan.folder / "control" / "shim.log").read_text()

    def log(self, plan: StartPlan, kind: str = "stdout", rank: int = 0) -> bytes:
        return (plan.out / f"rank-{rank}.{kind}").read_bytes()

    def wait_for_log(self, plan: StartPlan, text: bytes) -> None:
        path = plan.out / "rank-0.stdout"
        until(lambda: path.exists() and text in path.read_bytes(), what=f"{text!r} in the log")

    def exit_file(self, plan: StartPlan) -> dict[str, Any]:
        value = json.loads((plan.folder / "control" / "exit.json").read_text())
        assert isinstance(value, dict)
        return value


def living_with(mark: str) -> list[int]:
    """Every process of this machine, in a container or not, that was born with this mark."""
    wanted = os.fsencode(f"{MARK}={mark}")
    found = []
    for folder in Path("/proc").iterdir():
        try:
            if folder.name.isdigit() and wanted in (folder / "environ").read_bytes().split(b"\0"):
                found.append(int(folder.name))
        except OSError:
            continue
    return found


@pytest.fixture(scope="session")
def image() -> Callable[[], str]:
    """The name of the containers' image, made where it is first asked for."""
    return functools.cache(image_or_skip)


@pytest.fixture
def stages(ground: Path, runtime: Path, image: Callable[[], str]) -> Iterator[Callable[[str], Stage]]:
    with ExitStack() as stack:
        yield lambda name: stack.enter_context(stage_of(name, ground, runtime, image))


@pytest.fixture(params=["process", "docker", "simulated"])
def stage(request: pytest.FixtureRequest, stages: Callable[[str], Stage]) -> Stage:
    """Every executor."""
    return stages(request.param)


@pytest.fixture(params=["process", "docker"])
def bench(request: pytest.FixtureRequest, stages: Callable[[str], Stage]) -> Bench:
    """Those that run real programs."""
    return bench_on(stages(request.param))


@pytest.fixture
def process_bench(stages: Callable[[str], Stage]) -> Bench:
    return bench_on(stages("process"))


@pytest.fixture
def docker_bench(stages: Callable[[str], Stage]) -> Bench:
    return bench_on(stages("docker"))


def bench_on(stage: Stage) -> Bench:
    assert isinstance(stage, RealStage)
    return Bench(stage, stage.executor)
