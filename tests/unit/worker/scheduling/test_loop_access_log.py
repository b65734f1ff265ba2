"""A disk that refuses the files of the access log ends no scheduler."""

from types import SimpleNamespace
from typing import Any, cast

import pytest

import worker.scheduling.loop
from cluster.files.safe_read import FileMissing, FileNotPlain
from worker.scheduling.loop import SchedulerLoop


@pytest.mark.parametrize(
    "problem", [OSError(28, "No space left on device"), FileNotPlain("access"), FileMissing("log")]
)
def test_a_disk_that_refuses_the_files_of_the_access_log_ends_no_scheduler(
    monkeypatch: pytest.MonkeyPatch, problem: Exception
) -> None:
    sealed: list[Any] = []

    def refuse(cluster: Any) -> int:
        raise problem

    monkeypatch.setattr(worker.scheduling.loop, "seal_entries", lambda cluster, tell: sealed.append(cluster))
    monkeypatch.setattr(worker.scheduling.loop, "append_sealed_entries", refuse)
    SchedulerLoop.seal_access_log(cast(SchedulerLoop, SimpleNamespace(cluster="cluster")))
    assert sealed == ["cluster"]
