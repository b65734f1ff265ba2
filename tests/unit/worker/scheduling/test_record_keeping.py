"""A full disk or a clock that was just set holds back no more of the records than it has to."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, cast

import pytest

from cluster.files.safe_read import FileMissing, FileNotPlain
from cluster.services.context import Cluster
from cluster.services.leases import HeldLease
from worker.scheduling import record_keeping
from worker.scheduling.clock_watch import ClockWatch

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
    monkeypatch.setattr(record_keeping, "note_lost_seal", lambda cluster: sealed.append("noted"))
    monkeypatch.setattr(record_keeping, "seal_recorder", lambda settings: None)
    monkeypatch.setattr(record_keeping, "seal_entries", lambda cluster, tell: sealed.append(cluster))
    monkeypatch.setattr(record_keeping, "append_sealed_entries", raising(problem))
    cluster = cast(Cluster, SimpleNamespace(settings="settings"))
    record_keeping.seal_access_log(cluster)
    assert sealed == ["noted", cluster]


def test_a_disk_that_refuses_the_records_of_the_console_ends_no_scheduler(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[object] = []
    monkeypatch.setattr(record_keeping, "import_offline_records", raising(OSError(5, "I/O error"), asked))
    record_keeping.import_offline_repairs(CLUSTER)
    assert asked == [CLUSTER]


@pytest.mark.parametrize("is_settled", [True, False])
def test_a_backup_is_requested_once_the_clock_is_settled(
    monkeypatch: pytest.MonkeyPatch, is_settled: bool
) -> None:
    requested: list[object] = []
    monkeypatch.setattr(
        record_keeping, "request_nightly_backup", lambda cluster, held: requested.append(held)
    )
    record_keeping.request_backup(CLUSTER, clocks(is_settled), HELD)
    assert requested == ([HELD] if is_settled else [])


def raising(problem: Exception, asked: list[object] | None = None) -> Callable[[object], int]:
    def refuse(cluster: object) -> int:
        if asked is not None:
            asked.append(cluster)
        raise problem

    return refuse
