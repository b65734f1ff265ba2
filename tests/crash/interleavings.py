"""Instead of dying at the n-th point, somebody else acts there: a second scheduler, a cancel, a clock."""

import os
import signal
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Any

import psycopg

import worker.scheduling.reconciler
from tests.crash.installation import Ground, beat
from tests.crash.invariants.checker import violations
from tests.crash.invariants.event_bus_check import plain
from tests.crash.scenario.actors import Stage
from tests.crash.scenario.main_scenario import Step
from tests.crash.sweep import (
    Finding,
    Passes,
    Patch,
    come_right,
    end_of,
    in_child,
    look,
    play,
    start_child,
)
from worker.executors.contract import NotStarted

LEASE_PASSES = 12
"""Seconds after which the lease of a scheduler that stands still has run out."""


class StandsStill(Passes):
    """As SIGSTOP from outside would; not inside a transaction, where the others would only wait for it."""

    def act(self, point: str) -> None:
        if not point.endswith("committing"):
            self.ground.journal.tell("killed", point=point)
            os.kill(os.getpid(), signal.SIGSTOP)


class OneAfterAnother:
    """Starts in the caller's own thread: one of several that stand still could hold the world's lock for ever."""

    def __init__(self, *_: object) -> None: ...

    def submit(self, work: Callable[..., Any], *arguments: Any) -> "Future[Any]":
        future: Future[Any] = Future()
        try:
            future.set_result(work(*arguments))
        except NotStarted as problem:
            future.set_exception(problem)
        return future


def play_until_it_stands_still(
    ground: Ground, story: Sequence[Step], number: int, patch: Patch | None
) -> None:
    worker.scheduling.reconciler.ThreadPoolExecutor = OneAfterAnother  # type: ignore[assignment, misc]
    play(ground, story, -1, StandsStill(ground, number), patch)


def one_pause(ground: Ground, story: Sequence[Step], number: int, patch: Patch | None = None) -> Finding:
    """A second scheduler takes over from one that stands still; then the first goes on, knowing nothing (F5)."""
    ground.put_back()
    log = ground.folder / "children.log"
    first = start_child(lambda: play_until_it_stands_still(ground, story, number, patch), log)
    _, status = os.waitpid(first, os.WUNTRACED)
    if os.WIFSTOPPED(status):
        in_child(lambda: take_over(ground, patch), log)
        os.kill(first, signal.SIGCONT)
        _, status = os.waitpid(first, 0)
    code = os.waitstatus_to_exitcode(status)
    told = ground.journal.read()
    point = next((line["point"] for line in told if line["event"] == "killed"), None)
    wrong = violations(look(ground)) + end_of(ground, code, log)
    return Finding(number, point or f"point {number}", wrong)


def take_over(ground: Ground, patch: Patch | None) -> None:
    if patch is not None:
        patch(ground)
    ground.world.advance_clock(LEASE_PASSES)
    beat(ground.cluster, ground.world)
    stage = Stage(ground)
    come_right(ground, stage)
    # Longer than a pause after an interruption: the next attempt has to run when the first scheduler wakes.
    stage.run(12)


class Cancels(Passes):
    """A person stops every job that there is, twice, while the scheduler is in the middle of something."""

    def act(self, point: str) -> None:
        if point.endswith("committing"):
            return
        self.ground.journal.tell("killed", point=point)
        stage = Stage.of_now[0]
        for key in [*stage.jobs, *stage.jobs]:
            stage.stop(key)


def play_with_cancel(ground: Ground, story: Sequence[Step], number: int) -> None:
    """Starts come one after another: the bell of the cancel would otherwise see another start's transaction."""
    worker.scheduling.reconciler.ThreadPoolExecutor = OneAfterAnother  # type: ignore[assignment, misc]
    play(ground, story, -1, Cancels(ground, number))


def one_cancel(ground: Ground, story: Sequence[Step], number: int) -> Finding:
    """A cancel at the n-th point of the story (F16)."""
    ground.put_back()
    log = ground.folder / "children.log"
    code = in_child(lambda: play_with_cancel(ground, story, number), log)
    told = ground.journal.read()
    point = next((line["point"] for line in told if line["event"] == "killed"), None)
    wrong = violations(look(ground)) + end_of(ground, code, log)
    return Finding(number, point or f"point {number}", wrong)


class Cuts(Passes):
    """Every connection to PostgreSQL is ended by the server, also the one in the middle of this transaction."""

    def act(self, point: str) -> None:
        self.ground.journal.tell("cut", point=point)
        with psycopg.connect(plain(self.ground.cluster.store.url), autocommit=True) as other:
            other.execute(
                "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity"
                " WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )
