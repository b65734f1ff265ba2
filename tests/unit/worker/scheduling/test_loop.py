"""The scheduler's periodic work goes on if a piece fails or a lease is lost."""

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest
from sqlalchemy.exc import OperationalError

import worker.scheduling.loop
from cluster.services.context import Cluster
from cluster.services.leases import HeldLease, LeaseLost, acquire_lease
from tests.conftest import Clock
from worker.executors.simulated import SimulatedExecutor
from worker.executors.simulated_cluster import SimulatedCluster
from worker.scheduling.loop import SchedulerLoop
from worker.scheduling.wakeup import Wakeup


@pytest.fixture
def scheduler(light_cluster: Cluster, tmp_path: Path) -> SchedulerLoop:
    """One that looks when it is told to."""
    deaf = cast(Wakeup, SimpleNamespace(wake=lambda: None))
    return SchedulerLoop(
        light_cluster, SimulatedExecutor(SimulatedCluster(tmp_path / "world")), tmp_path, deaf
    )


def test_what_fails_each_time_keeps_nothing_else_from_its_turn(
    scheduler: SchedulerLoop, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*words: object) -> None:
        raise OperationalError("INSERT", {}, Exception("no room"))

    ended = []
    monkeypatch.setattr(worker.scheduling.loop, "record_scheduler_stats", fail)
    monkeypatch.setattr(scheduler, "end_orphan_runs", ended.append)
    scheduler.begun_at.clear()
    assert scheduler.renew_lease()
    with pytest.raises(OperationalError):
        scheduler.run_pass()
    scheduler.run_pass()
    assert len(ended) == 1


def test_a_lease_that_is_lost_in_the_middle_of_a_look_is_said_as_such(
    light_cluster: Cluster, scheduler: SchedulerLoop, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert scheduler.renew_lease()

    def lose(held: HeldLease, renew: Callable[[], object]) -> int:
        assert isinstance(light_cluster.clock, Clock)
        light_cluster.clock.move(minutes=5)
        assert acquire_lease(light_cluster, "scheduler", "another", timedelta(hours=1))
        scheduler.renewed_at = float("-inf")
        renew()
        return 0

    monkeypatch.setattr(scheduler.reconciler, "reconcile", lose)
    monkeypatch.setattr(worker.scheduling.loop, "STATS_SECONDS", 0.0)
    with pytest.raises(LeaseLost):
        scheduler.run_pass()
