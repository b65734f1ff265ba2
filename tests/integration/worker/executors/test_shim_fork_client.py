"""Shims that are forked rather than executed keep every promise of the others, and cost a fraction."""

import json
import os
import resource
import signal
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from cluster.domain.jobs.attempts import ObservedState
from tests.integration.worker.executors.conftest import GID, IS_ROOT, PYTHON, UID, until
from worker.executors import shim_fork_client
from worker.executors.contract import ProgramPlan, StartPlan
from worker.executors.process import ProcessExecutor
from worker.executors.shim_fork_client import ForkedShimStarter, ShimForkClient


class Garden:
    """Starts programs through one nursery."""

    def __init__(self, ground: Path, runtime: Path) -> None:
        self.ground, self.runtime = ground, runtime
        self.launcher = ForkedShimStarter()
        self.executor = ProcessExecutor(runtime, ground / "storage", self.launcher)
        self.numbers = 0

    def plan(self, *program: str) -> StartPlan:
        self.numbers += 1
        jobs = self.ground / "storage" / "workspaces" / "1" / "jobs"
        jobs.mkdir(parents=True, exist_ok=True)
        for each in (self.ground / "storage", self.ground / "storage" / "workspaces", jobs.parent, jobs):
            each.chmod(0o711)
        folder = jobs / str(self.numbers) / "1"
        environment = {"PATH": "/usr/bin:/bin", "GROUNDCREW_OUT": str(folder / "out"), "MINE": "yes"}
        argv = (PYTHON, str(self.runtime / "shim_rank.py"), "--", *program)
        user = {"uid": UID, "gid": GID} if IS_ROOT else {}
        return StartPlan(self.numbers, 1, folder, ProgramPlan(argv, environment, **user))

    def run(self, *program: str) -> StartPlan:
        plan = self.plan(*program)
        self.executor.start(plan)
        self.wait(plan)
        return plan

    def wait(self, plan: StartPlan) -> None:
        until(lambda: self.executor.read_status(plan.folder).observed is ObservedState.ENDED)


@pytest.fixture
def garden(ground: Path, runtime: Path) -> Iterator[Garden]:
    garden = Garden(ground, runtime)
    yield garden
    for run in garden.executor.list_running():
        garden.executor.kill(run.handle)
    garden.launcher.close()


def log(plan: StartPlan) -> str:
    return (plan.out / "rank-0.stdout").read_text()


def test_a_program_runs_as_ever(garden: Garden) -> None:
    plan = garden.run("/bin/sh", "-c", "echo $MINE $HOME; id -u; ls /proc/self/fd | wc -l; exit 3")
    truth = garden.executor.read_exit_record(plan.folder)
    assert truth and (truth.exit_code, truth.error) == (3, None)
    assert truth.is_of(plan.job, 1, 1)
    told = log(plan).splitlines()
    assert told[0].strip() == "yes"
    assert int(told[1]) == (UID if IS_ROOT else os.getuid())
    assert int(told[2]) <= 5  # 0, 1, 2, the pipe, and the listing's own.


def test_it_is_nobodys_child_and_found_by_its_own_name(garden: Garden) -> None:
    plans = [garden.plan("/bin/sleep", "60") for _ in range(2)]
    handles = [garden.executor.start(plan) for plan in plans]
    assert {(run.job, run.handle["pid"]) for run in garden.executor.list_running()} == {
        (plan.job, handle["pid"]) for plan, handle in zip(plans, handles, strict=True)
    }
    shim = psutil.Process(handles[0]["pid"])
    assert garden.launcher.server and shim.ppid() != garden.launcher.server.process.pid
    assert shim.ppid() != os.getpid()
    wrapper = until(shim.children)[0]
    assert until(
        lambda: wrapper.cmdline()[1].endswith("/shim_rank.py") and wrapper.cmdline()[3] == "/bin/sleep"
    )


def test_a_second_start_finds_the_first(garden: Garden) -> None:
    plan = garden.plan("/bin/sleep", "60")
    first = garden.executor.start(plan)
    assert garden.executor.start(plan) == first


def test_several_starts_at_once_do_not_mix_their_answers(garden: Garden) -> None:
    plans = [garden.plan("/bin/sleep", "60") for _ in range(8)]
    with ThreadPoolExecutor(8) as pool:
        handles = list(pool.map(garden.executor.start, plans))
    for plan, handle in zip(plans, handles, strict=True):
        started = json.loads((plan.folder / "control" / "started").read_text())
        assert started["pid"] == handle["pid"]


def test_without_the_nursery_runs_go_on_and_starts_still_work(garden: Garden) -> None:
    first = garden.plan("/bin/sleep", "60")
    handle = garden.executor.start(first)
    assert garden.launcher.server
    os.kill(garden.launcher.server.process.pid, signal.SIGKILL)
    garden.launcher.server.process.wait(60)
    second = garden.plan("/bin/sleep", "60")
    garden.executor.start(second)
    third = garden.plan("/bin/sleep", "60")
    garden.executor.start(third)
    assert {run.job for run in garden.executor.list_running()} == {1, 2, 3}
    garden.executor.stop(handle)
    garden.wait(first)
    truth = garden.executor.read_exit_record(first.folder)
    assert truth and truth.stopped


def test_it_ends_with_whoever_started_it(garden: Garden) -> None:
    garden.run("/bin/true")
    assert garden.launcher.server
    nursery = garden.launcher.server
    nursery.control.close()
    assert nursery.process.wait(60) == 0
    garden.launcher.server = None


def test_what_no_call_can_take_is_told_as_ever(garden: Garden) -> None:
    for plan in (garden.plan("/bin/echo", "nul\0byte"), garden.plan("/bin/echo", "\ud800")):
        garden.executor.start(plan)
        garden.wait(plan)
        truth = garden.executor.read_exit_record(plan.folder)
        assert truth and truth.error == "exit.not_started"


def test_a_program_that_is_not_there_is_told(garden: Garden) -> None:
    plan = garden.run("/nowhere/at-all")
    truth = garden.executor.read_exit_record(plan.folder)
    assert truth and truth.exit_code == 127


@pytest.mark.skipif(not IS_ROOT, reason="needs root: only then jobs run as users of their own")
def test_the_wrapper_keeps_nothing_of_root(garden: Garden) -> None:
    plan = garden.plan("/bin/sleep", "60")
    handle = garden.executor.start(plan)
    wrapper = until(psutil.Process(handle["pid"]).children)[0]
    until(lambda: wrapper.uids().real == UID)
    until(lambda: wrapper.children())
    targets = {str(path.readlink()) for path in Path(f"/proc/{wrapper.pid}/fd").iterdir()}
    assert not [target for target in targets if "control" in target or "kmsg" in target or "socket" in target]
    assert f"Uid:\t{UID}\t{UID}\t{UID}\t{UID}" in Path(f"/proc/{wrapper.pid}/status").read_text()


def test_a_start_costs_a_fraction(garden: Garden, ground: Path, runtime: Path) -> None:
    """Processor time of everything that was started and has ended, not time on the wall."""
    garden.run("/bin/true")
    executed = ProcessExecutor(runtime, ground / "storage")
    spent = {}
    for name, executor in (("forked", garden.executor), ("executed", executed)):
        total = 0.0
        for _ in range(5):
            plan = replace(garden.plan("/bin/true"))
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            began = time.perf_counter()
            executor.start(plan)
            print(f"{name}: answered after {(time.perf_counter() - began) * 1000:.1f} ms")
            garden.wait(plan)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            truth = executor.read_exit_record(plan.folder)
            assert truth and truth.cpu_seconds is not None
            total += truth.cpu_seconds + after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        spent[name] = total / 5
    print(f"processor seconds per start: {spent}")
    assert spent["forked"] < spent["executed"]


def test_a_nursery_that_does_not_come_up_is_ended(ground: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (ground / "shim_fork_server.py").write_text("import time\ntime.sleep(600)\n")
    monkeypatch.setattr(shim_fork_client, "START_SECONDS", 0.5)
    with pytest.raises(OSError, match="did not start"):
        ShimForkClient(ground / "shim.py")
    assert psutil.Process().children() == []
