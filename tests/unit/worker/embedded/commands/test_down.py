"""`make down` asks before it stops jobs, and removes their routing rules unless another installation needs them."""

import builtins
from pathlib import Path

import pytest

from cluster.settings import Settings
from worker.embedded.commands import down
from worker.embedded.commands.running_jobs import RunningJobLine

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
    monkeypatch.setattr(down.os, "geteuid", lambda: uid)
    monkeypatch.setattr(down, "list_process_uids", lambda: others)
    monkeypatch.setattr(down.shim_cloud_metadata, "unblock_cloud_metadata", lambda *uids: found.append(uids))
    down.remove_routing_rules(SETTINGS)
    assert found == opened


@pytest.mark.parametrize(
    ("has_terminal", "typed", "stops"),
    [(True, "yes", True), (True, "예", True), (True, "no", False), (True, "", False), (False, "yes", False)],
)
def test_jobs_are_named_and_stopped_only_after_a_yes(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    has_terminal: bool,
    typed: str,
    stops: bool,
) -> None:
    monkeypatch.setattr(down.sys.stdin, "isatty", lambda: has_terminal, raising=False)
    monkeypatch.setattr(builtins, "input", lambda _: typed)
    jobs = [RunningJobLine(7, "lenet", "vision", "minji")]
    if stops:
        down.confirm_interruption(jobs)
    else:
        with pytest.raises(SystemExit):
            down.confirm_interruption(jobs)
    assert "lenet" in capsys.readouterr().out
