"""Periodic work besides placing: what a set clock or a full disk holds back."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, cast

import pytest

from cluster.files.safe_read import FileMissing, FileNotPlain
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


@pytest.mark.parametrize(
    "problem", [OSError(28, "No space left on device"), FileNotPlain("access"), FileMissing("log")]
)
def test_a_disk_that_refuses_the_files_of_the_access_log_ends_no_scheduler(
    monkeypatch: pytest.MonkeyPatch, problem: Exception
) -> None:
    sealed: list[Any] = []
    monkeypatch.setattr(periodic_work, "seal_entries", lambda cluster, tell: sealed.append(cluster))
    monkeypatch.setattr(periodic_work, "append_sealed_entries", raising(problem))
    periodic_work.seal_access_log(CLUSTER)
    assert sealed == [CLUSTER]


def test_a_disk_that_refuses_the_records_of_the_console_ends_no_scheduler(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[object] = []
    monkeypatch.setattr(periodic_work, "import_offline_records", raising(OSError(5, "I/O error"), asked))
    periodic_work.import_offline_repairs(CLUSTER)
    assert asked == [CLUSTER]


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


@pytest.mark.parametrize("is_settled", [True, False])
def test_a_backup_is_requested_once_the_clock_is_settled(
    monkeypatch: pytest.MonkeyPatch, is_settled: bool
) -> None:
    requested: list[object] = []
    monkeypatch.setattr(periodic_work, "request_nightly_backup", lambda cluster, held: requested.append(held))
    periodic_work.request_backup(CLUSTER, clocks(is_settled), HELD)
    assert requested == ([HELD] if is_settled else [])


def test_each_work_has_a_period_and_nodes_come_after_what_expires() -> None:
    nodes = cast(NodeWatch, SimpleNamespace(record_confinement=print, end_orphan_runs=print))
    works = list(periodic_work.periodic_work(CLUSTER, clocks(True), nodes))
    assert set(works) < set(PERIODS) == set(PeriodicWork)
    assert works.index(PeriodicWork.EXPIRY) < works.index(PeriodicWork.ORPHAN_RUNS)


def raising(problem: Exception, asked: list[object] | None = None) -> Callable[[object], int]:
    def refuse(cluster: object) -> int:
        if asked is not None:
            asked.append(cluster)
        raise problem

    return refuse
