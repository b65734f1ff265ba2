"""What the scheduler does now and then: a piece that fails, or a lease that is lost, holds nothing else up."""

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest
from sqlalchemy.exc import OperationalError

import worker.scheduler
from cluster.services.context import Cluster
from cluster.services.leases import Held, LeaseLost, hold_lease
from tests.conftest import Clock
from worker.ears import Ears
from worker.executors.simulated import SimulatedExecutor
from worker.executors.simulated_world import World
from worker.scheduler import Scheduler


@pytest.fixture
def scheduler(light_cluster: Cluster, tmp_path: Path) -> Scheduler:
    """One that looks when it is told to."""
    deaf = cast(Ears, SimpleNamespace(wake=lambda: None))
    return Scheduler(light_cluster, SimulatedExecutor(World(tmp_path / "world")), tmp_path, deaf)


def test_what_fails_each_time_keeps_nothing_else_from_its_turn(
    scheduler: Scheduler, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*words: object) -> None:
        raise OperationalError("INSERT", {}, Exception("no room"))

    ended = []
    monkeypatch.setattr(worker.scheduler, "tell_pulse", fail)
    monkeypatch.setattr(scheduler, "end_strays", ended.append)
    scheduler.begun_at.clear()
    assert scheduler.renew()
    with pytest.raises(OperationalError):
        scheduler.tick()
    scheduler.tick()
    assert len(ended) == 1


def test_a_lease_that_is_lost_in_the_middle_of_a_look_is_said_as_such(
    light_cluster: Cluster, scheduler: Scheduler, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert scheduler.renew()

    def lose(held: Held, renew: Callable[[], object]) -> int:
        assert isinstance(light_cluster.clock, Clock)
        light_cluster.clock.move(minutes=5)
        assert hold_lease(light_cluster, "scheduler", "another", timedelta(hours=1))
        scheduler.renewed_at = float("-inf")
        renew()
        return 0

    monkeypatch.setattr(scheduler.reconciler, "reconcile", lose)
    monkeypatch.setattr(worker.scheduler, "PULSE_SECONDS", 0.0)
    with pytest.raises(LeaseLost):
        scheduler.tick()
