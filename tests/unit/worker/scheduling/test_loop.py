"""The scheduler's periodic work goes on if a piece fails or a lease is lost."""

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest
from sqlalchemy import event
from sqlalchemy.exc import OperationalError

from cluster.services.context import Cluster
from cluster.services.leases import HeldLease, LeaseLost, acquire_lease
from tests.builders import a_job, a_training, a_workspace
from tests.conftest import Clock, SteadyClock
from worker.executors.simulated import SimulatedExecutor
from worker.executors.simulated_cluster import SimulatedCluster
from worker.scheduling.cadence import IDLE_SECONDS, PERIODS, PeriodicWork
from worker.scheduling.loop import SchedulerLoop, Wakeup


@pytest.fixture
def scheduler(light_cluster: Cluster, steady: SteadyClock, tmp_path: Path) -> SchedulerLoop:
    """One whose passes and whose time are the test's."""
    deaf = cast(Wakeup, SimpleNamespace(wake=lambda: None))
    executor = SimulatedExecutor(SimulatedCluster(tmp_path / "world"))
    return SchedulerLoop(light_cluster, executor, tmp_path, deaf, steady)


@pytest.fixture
def statements(light_cluster: Cluster) -> list[str]:
    found: list[str] = []
    event.listen(light_cluster.store.engine, "before_cursor_execute", lambda *given: found.append(given[2]))
    return found


def test_a_pass_without_open_work_asks_one_statement(
    scheduler: SchedulerLoop, steady: SteadyClock, statements: list[str]
) -> None:
    assert scheduler.renew_lease()
    scheduler.run_pass()
    steady.now += IDLE_SECONDS
    statements.clear()
    assert scheduler.run_pass() == 0
    assert [said.split()[0] for said in statements] == ["SELECT"]


def test_work_whose_event_was_lost_causes_a_whole_pass(
    light_cluster: Cluster, scheduler: SchedulerLoop, steady: SteadyClock, statements: list[str]
) -> None:
    assert scheduler.renew_lease()
    scheduler.run_pass()
    a_job(light_cluster, a_training(light_cluster, a_workspace(light_cluster)))
    steady.now += IDLE_SECONDS
    statements.clear()
    scheduler.run_pass()
    assert any("FROM workspaces" in said for said in statements)


@pytest.mark.parametrize(
    ("is_woken", "seconds"), [(True, IDLE_SECONDS), (False, PERIODS[PeriodicWork.WHOLE_PASS])]
)
def test_an_event_or_the_time_causes_a_whole_pass_without_open_work(
    scheduler: SchedulerLoop, steady: SteadyClock, statements: list[str], is_woken: bool, seconds: float
) -> None:
    assert scheduler.renew_lease()
    scheduler.run_pass()
    steady.now += seconds
    scheduler.cadence = scheduler.cadence.end_wait(is_woken)
    statements.clear()
    scheduler.run_pass()
    assert any("FROM workspaces" in said for said in statements)


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
    light_cluster: Cluster, scheduler: SchedulerLoop, steady: SteadyClock, monkeypatch: pytest.MonkeyPatch
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
