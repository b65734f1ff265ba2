"""Ends a block of a test, or a child process, at a failpoint, as one that is killed there ends."""

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from cluster import failpoints
from cluster.services.context import Cluster
from cluster.store.engine import Store
from tests.crash.sweep import start_child


@contextmanager
def death_at(point: str) -> Iterator[None]:
    """The block ends at the first time that it reaches the failpoint. One that never does fails the test."""

    def die(reached: str) -> None:
        if reached == point:
            failpoints.listener = None
            raise KeyboardInterrupt

    failpoints.listener = die
    try:
        with pytest.raises(KeyboardInterrupt):
            yield
    finally:
        failpoints.listener = None


class KillAt:
    """Kills this process at the given number of failpoints that it passes."""

    def __init__(self, at: int) -> None:
        self.at, self.passed = at, 0

    def __call__(self, point: str) -> None:
        self.passed += 1
        if self.passed == self.at:
            os.kill(os.getpid(), signal.SIGKILL)


def dies_at(cluster: Cluster, number: int, work: Callable[[Cluster], None], log: Path) -> bool:
    """Returns whether a child that does the work was killed; False once it has fewer failpoints than that."""

    def child() -> None:
        store = Store(cluster.settings.database_url)  # No connection crosses the fork.
        failpoints.listener = KillAt(number)
        with closing(store):
            work(replace(cluster, store=store))

    _, status = os.waitpid(start_child(child, log), 0)
    assert os.waitstatus_to_exitcode(status) in (0, -signal.SIGKILL), log.read_text()
    return os.waitstatus_to_exitcode(status) == -signal.SIGKILL
