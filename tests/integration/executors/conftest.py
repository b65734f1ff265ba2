"""One contract, several executors: each test of this folder runs against every one of them."""

import itertools
import json
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from cluster.domain.attempts import Seen
from cluster.domain.exits import ExitTruth
from worker.executors.contract import Executor, Handle, StartPlan
from worker.executors.process import ProcessExecutor

PYTHON = "/usr/bin/python3"
UID, GID = 190_001, 190_001
IS_ROOT = os.geteuid() == 0


def until(condition: Callable[[], Any], seconds: float = 15.0, what: str = "") -> Any:
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
    """Starts programs under an executor and waits for what becomes of them."""

    executor: Executor
    ground: Path
    runtime: Path
    handles: list[Handle] = field(default_factory=list)
    numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    def plan(self, *program: str, **changes: Any) -> StartPlan:
        job = next(self.numbers)
        folder = self.ground / "storage" / "workspaces" / "1" / "jobs" / str(job) / "1"
        for each in (self.ground / "storage", self.ground / "storage" / "workspaces"):
            each.mkdir(exist_ok=True)
            each.chmod(0o711)
        (self.ground / "storage" / "workspaces" / "1" / "jobs").mkdir(parents=True, exist_ok=True)
        environment = {
            "PATH": "/usr/bin:/bin",
            "HOME": str(folder / "out"),
            "GROUNDCREW_OUT": str(folder / "out"),
            "PYTHONPATH": str(self.runtime),
        }
        rank = (PYTHON, f"{self.runtime}/rank.py", "--", *program)
        user = {"uid": UID, "gid": GID} if IS_ROOT else {}
        return StartPlan(job, 1, folder, rank, environment, **(user | changes))

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

    def run(self, plan: StartPlan, seconds: float = 20.0) -> ExitTruth:
        """Starts it and waits for its end."""
        self.start(plan)
        return self.end_of(plan, seconds)

    def end_of(self, plan: StartPlan, seconds: float = 20.0) -> ExitTruth:
        until(lambda: self.executor.look(plan.folder).seen is Seen.GONE, seconds, "the shim's end")
        truth = self.executor.read_end(plan.folder)
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


@pytest.fixture(params=["process"])
def bench(request: pytest.FixtureRequest, ground: Path, runtime: Path) -> Iterator[Bench]:
    executor = {"process": ProcessExecutor}[request.param](runtime, ground / "storage")
    bench = Bench(executor, ground, runtime)
    yield bench
    for handle in bench.handles:
        executor.force_stop(handle)
