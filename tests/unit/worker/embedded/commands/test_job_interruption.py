"""The routing rules of jobs are removed unless another installation needs them."""

from pathlib import Path

import pytest

from cluster.settings import Settings
from worker.embedded.commands import job_interruption

SETTINGS = Settings(Path("/state"), Path("/cache"), "", "", "key", uid_base=200_000)
LAST = 200_000 + 2**20 - 1


@pytest.mark.parametrize(
    ("uid", "others", "opened"),
    [
        (0, {0, 1000}, [(200_001, LAST)]),
        (0, {0, 200_000, LAST + 1}, [(200_001, LAST)]),
        (0, {0, 200_007}, []),
        (0, {0, LAST}, []),
        (1000, {0, 1000}, []),
    ],
)
def test_addresses_stay_closed_while_anybodys_job_runs_by_such_a_number(
    monkeypatch: pytest.MonkeyPatch, uid: int, others: set[int], opened: list[tuple[int, int]]
) -> None:
    found: list[tuple[int, int]] = []
    monkeypatch.setattr(job_interruption.os, "geteuid", lambda: uid)
    monkeypatch.setattr(job_interruption, "list_process_uids", lambda: others)
    monkeypatch.setattr(
        job_interruption.shim_cloud_metadata, "unblock_cloud_metadata", lambda *uids: found.append(uids)
    )
    job_interruption.remove_routing_rules(SETTINGS)
    assert found == opened
