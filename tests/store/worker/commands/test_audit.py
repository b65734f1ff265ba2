"""The audit command checks the access log at the terminal, also with seals that another machine's log has recorded."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from cluster.services.audit.seals import seal_entries
from cluster.services.context import Cluster
from cluster.settings import Settings
from cluster.store.audit import add_audit_entry
from tests.builders import actor_of, an_administrator
from tests.conftest import Clock
from tests.store.audit_tampering import tamper
from worker.backups.audit_anchors import anchors_in_log, log_seal
from worker.commands import audit


@pytest.fixture
def here(cluster: Cluster, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> Settings:
    """What the command reads on this machine."""
    settings = replace(cluster.settings, database_url=cluster.store.url.render_as_string(hide_password=False))
    monkeypatch.setattr(audit, "read_installed_settings", lambda: settings)
    monkeypatch.setenv("LC_ALL", "C.UTF-8")
    return settings


def seal_some(cluster: Cluster, clock: Clock, log: Path) -> None:
    """One seal per call; what the scheduler logs goes to the file as syslog would keep it."""
    with cluster.store.write() as session:
        add_audit_entry(
            session, clock.now, actor_of(an_administrator(cluster, f"u{clock.now:%M}")), "job.submitted", 1
        )
    clock.move(minutes=2)
    with capture_logs() as told:
        seal_entries(cluster, log_seal)
    with log.open("a") as file:
        for line in told:
            file.write(f"Nov 21 05:00:00 gc-master groundcrew-scheduler[7]: {json.dumps(line)}\n")
        file.write('half a line {"event": "the audit is sealed", "se\n')


def test_whole(
    cluster: Cluster, here: Settings, clock: Clock, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / "syslog"
    for _ in range(2):
        seal_some(cluster, clock, log)
    assert [anchor.number for anchor in anchors_in_log(log)] == [1, 2]
    assert audit.main(["verify", "--log", str(log)]) == 0
    said = capsys.readouterr().out
    assert "in 2 seals" in said and "all of them in it: 2" in said


def test_an_end_that_was_cut_off_is_told_by_the_log_alone(
    cluster: Cluster, here: Settings, clock: Clock, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / "syslog"
    for _ in range(2):
        seal_some(cluster, clock, log)
    tamper(
        cluster.store,
        "DELETE FROM audit_entries WHERE id > (SELECT last_id FROM audit_seals WHERE id = 1)",
        "DELETE FROM audit_seals WHERE id = 2",
    )
    assert audit.main(["verify"]) == 0, "nothing here knows of it any more"
    assert audit.main(["verify", "--log", str(log)]) == 1
    said = capsys.readouterr().err
    assert "Seal 2" in said and str(log) in said


def test_a_changed_entry_is_named_in_korean_too(
    cluster: Cluster,
    here: Settings,
    clock: Clock,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    seal_some(cluster, clock, tmp_path / "syslog")
    tamper(cluster.store, "UPDATE audit_entries SET actor_name = 'nobody' WHERE id = 1")
    monkeypatch.setenv("LC_ALL", "ko_KR.UTF-8")
    assert audit.main(["verify"]) == 1
    assert "항목 1번" in capsys.readouterr().err


@pytest.mark.parametrize("place", ["/nonexistent", "/tmp"])
def test_a_log_that_is_not_there_is_refused(
    here: Settings, place: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        audit.main(["verify", "--log", place])
    assert ended.value.code == 1
    assert f"--log {place}" in capsys.readouterr().err
