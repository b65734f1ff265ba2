"""The scheduler's periodic work goes on if a piece fails or a lease is lost."""

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest
from sqlalchemy.exc import OperationalError

from cluster.services.context import Cluster
from cluster.services.leases import HeldLease, LeaseLost, acquire_lease
from tests.conftest import Clock
from worker.executors.simulated import SimulatedExecutor
from worker.executors.simulated_cluster import SimulatedCluster
from worker.scheduling.cadence import PERIODS, PeriodicWork
from worker.scheduling.loop import SchedulerLoop
from worker.scheduling.wakeup import Wakeup


class Steady:
    """A clock that only tests move, in seconds."""

    now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def steady() -> Steady:
    return Steady()


@pytest.fixture
def scheduler(light_cluster: Cluster, steady: Steady, tmp_path: Path) -> SchedulerLoop:
    """One whose passes and whose time are the test's."""
    deaf = cast(Wakeup, SimpleNamespace(wake=lambda: None))
    executor = SimulatedExecutor(SimulatedCluster(tmp_path / "world"))
    return SchedulerLoop(light_cluster, executor, tmp_path, deaf, steady)


def test_what_fails_each_time_keeps_nothing_else_from_its_turn(scheduler: SchedulerLoop) -> None:
    def fail(held: HeldLease) -> None:
        raise OperationalError("INSERT", {}, Exception("no room"))

    ended: list[HeldLease] = []
    scheduler.periodic_work = {PeriodicWork.EXPIRY: fail, PeriodicWork.ORPHAN_RUNS: ended.append}
    assert scheduler.renew_lease()
    with pytest.raises(OperationalError):
        scheduler.run_pass()
    assert ended == []
    scheduler.run_pass()
    assert len(ended) == 1


def test_a_lease_that_is_lost_in_the_middle_of_a_look_is_said_as_such(
    light_cluster: Cluster, scheduler: SchedulerLoop, steady: Steady, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert scheduler.renew_lease()

    def lose(held: HeldLease, renew: Callable[[], object]) -> int:
        assert isinstance(light_cluster.clock, Clock)
        light_cluster.clock.move(minutes=5)
        assert acquire_lease(light_cluster, "scheduler", "another", timedelta(hours=1))
        steady.now += PERIODS[PeriodicWork.SCHEDULER_STATS]
        renew()
        return 0

    monkeypatch.setattr(scheduler.reconciler, "reconcile", lose)
    with pytest.raises(LeaseLost):
        scheduler.run_pass()
