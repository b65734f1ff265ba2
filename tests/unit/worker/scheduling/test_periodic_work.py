"""Periodic work: its order and its periods, and what a clock that was set holds back."""

from types import SimpleNamespace
from typing import cast

import pytest

from cluster.services.context import Cluster
from cluster.services.leases import HeldLease
from worker.scheduling import periodic_work
from worker.scheduling.cadence import PERIODS, PeriodicWork
from worker.scheduling.clock_watch import ClockWatch
from worker.scheduling.node_watch import NodeWatch

HELD = HeldLease("scheduler", "me", 1)
CLUSTER = cast(Cluster, "cluster")


def clocks(is_settled: bool) -> ClockWatch:
    return cast(ClockWatch, SimpleNamespace(is_settled=is_settled))


@pytest.mark.parametrize(("is_settled", "done"), [(True, ["operations", "nodes"]), (False, [])])
def test_nothing_expires_while_the_clock_was_just_set(
    monkeypatch: pytest.MonkeyPatch, is_settled: bool, done: list[str]
) -> None:
    expired: list[str] = []
    nodes = cast(NodeWatch, SimpleNamespace(mark_silent_nodes=lambda held: expired.append("nodes")))
    monkeypatch.setattr(
        periodic_work, "requeue_stale_operations", lambda cluster: expired.append("operations")
    )
    periodic_work.expire_leases_and_nodes(CLUSTER, clocks(is_settled), nodes, HELD)
    assert expired == done


def test_each_work_has_a_period_and_nodes_come_after_what_expires() -> None:
    nodes = cast(NodeWatch, SimpleNamespace(record_confinement=print, end_orphan_runs=print))
    works = list(periodic_work.periodic_work(CLUSTER, clocks(True), nodes))
    assert set(works) < set(PERIODS) == set(PeriodicWork)
    assert works.index(PeriodicWork.EXPIRY) < works.index(PeriodicWork.ORPHAN_RUNS)
