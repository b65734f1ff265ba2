"""The scheduler's process: SIGTERM ends its loop, and it hears of everything but its own events."""

import os
import signal
from collections.abc import Iterator
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from cluster.services.context import Cluster
from worker.commands import scheduler


@pytest.fixture
def handlers() -> Iterator[None]:
    """Put back what the process does at a signal."""
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


class Loop:
    """Runs until it is asked to stop, which is what the test does with a signal."""

    made: "Loop"
    number = signal.SIGTERM

    def __init__(self, cluster: Cluster, executor: Any, runtime: Any, wakeup: Any) -> None:
        self.cluster, self.executor, self.wakeup = cluster, executor, wakeup
        self.is_stopped = False
        Loop.made = self

    def stop(self) -> None:
        self.is_stopped = True

    def run(self) -> None:
        os.kill(os.getpid(), self.number)
        assert self.is_stopped


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.usefixtures("handlers")
def test_a_signal_ends_the_loop(
    light_cluster: Cluster, monkeypatch: pytest.MonkeyPatch, number: signal.Signals
) -> None:
    events = SimpleNamespace(origin="this scheduler")
    made: dict[str, Any] = {
        "open_cluster": lambda settings: replace(light_cluster, settings=settings),
        "install_runtime": lambda folder, ids: folder,
        "open_executor": lambda cluster, runtime, starter: ("executor", runtime),
        "connect_redis": lambda url: url,
        "RedisEventBus": lambda connection: events,
        "Wakeup": lambda connection, topics, origin: (topics, origin),
        "SchedulerLoop": Loop,
        "freeze_startup_objects": lambda: None,
    }
    for name, value in made.items():
        monkeypatch.setattr(scheduler, name, value)
    monkeypatch.setattr(Loop, "number", number)
    scheduler.run_scheduler(light_cluster.settings)
    loop = Loop.made
    assert loop.is_stopped
    assert loop.cluster.events is events
    assert loop.executor == ("executor", light_cluster.settings.runtime_dir)
    assert loop.wakeup == ({"queue", "nodes", "workspaces"}, "this scheduler")
