"""A run that a console began with the database away and another one finds: it is finished, never begun again."""

import json
import signal
from dataclasses import replace
from pathlib import Path

import pytest

from cluster.domain.repairs.run_matrix import RepairVerdict
from cluster.services.context import Cluster
from cluster.services.repairs.catalogue import find_catalogue_entry
from cluster.services.repairs.offline_records import list_offline_records, write_offline_record
from cluster.services.repairs.offline_runs import (
    FileRecorder,
    hold_offline_run,
    new_offline_run,
    request_offline_cancel,
)
from worker.console import offline_run
from worker.console.offline_run import OfflineRepairRun, master_host_name
from worker.repairs import driver, playbook_runs
from worker.repairs.playbook_runs import repair_run_folder


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(driver, "verification_seconds", lambda entry: 0.0)


@pytest.fixture
def found(light_cluster: Cluster) -> OfflineRepairRun:
    """Written down, as the console that was killed left it."""
    (light_cluster.settings.state_dir / "log").mkdir()
    entry = find_catalogue_entry(light_cluster, "verify-access-log")
    run = new_offline_run(light_cluster, entry, "lab-a", "pages hang", "root")
    write_offline_record(light_cluster, run)
    return OfflineRepairRun(light_cluster, run)


def folder_of(alone: OfflineRepairRun) -> Path:
    return repair_run_folder(alone.cluster, alone.run)


def left(alone: OfflineRepairRun, **end: object) -> None:
    folder_of(alone).mkdir(parents=True)
    (folder_of(alone) / "started").touch()
    (folder_of(alone) / "exit.json").write_text(json.dumps(end))


def verdict_of(alone: OfflineRepairRun) -> RepairVerdict | None:
    (record,) = list_offline_records(alone.cluster)
    assert record.ended_at is not None and record.reason == "pages hang"
    return record.verdict


def test_one_that_had_not_begun_is_not_begun(
    found: OfflineRepairRun, capsys: pytest.CaptureFixture[str]
) -> None:
    found.resume()
    assert verdict_of(found) is RepairVerdict.BROKEN
    assert not folder_of(found).exists()
    assert "Did not run" in capsys.readouterr().out


def test_one_that_another_console_prepares_is_left_to_it(
    found: OfflineRepairRun, capsys: pytest.CaptureFixture[str]
) -> None:
    with hold_offline_run(found.cluster, found.run):
        found.resume()
    (record,) = list_offline_records(found.cluster)
    assert record.ended_at is None
    assert "Another console" in capsys.readouterr().out
    found.resume()
    assert verdict_of(found) is RepairVerdict.BROKEN


def test_one_that_another_console_has_ended_meanwhile_stays_as_it_is(found: OfflineRepairRun) -> None:
    left(found, end="ran", rc=254, status="canceled")
    OfflineRepairRun(found.cluster, list_offline_records(found.cluster)[0]).resume()
    (folder_of(found) / "exit.json").write_text('{"end": "locked"}')
    found.resume()
    assert verdict_of(found) is RepairVerdict.CANCELLED


def test_what_another_console_has_recorded_meanwhile_is_kept(found: OfflineRepairRun) -> None:
    (read_before,) = list_offline_records(found.cluster)
    FileRecorder(found.cluster, found.run).record_start(
        [{"is_ok": False, "code": "check.audit.broken", "data": {}}]
    )
    left(found, end="ran", rc=0, status="successful")
    OfflineRepairRun(found.cluster, read_before).resume()
    (record,) = list_offline_records(found.cluster)
    assert record.ended_at is not None
    assert (record.started_at, record.before) == (found.run.started_at, found.run.before)


def test_one_that_ran_meanwhile_is_judged_by_its_checks(found: OfflineRepairRun) -> None:
    left(found, end="ran", rc=0, status="successful")
    found.resume()
    assert verdict_of(found) is RepairVerdict.NOT_VERIFIED


def test_one_that_met_another_on_the_same_machine_did_nothing(
    found: OfflineRepairRun, capsys: pytest.CaptureFixture[str]
) -> None:
    left(found, end="locked")
    found.resume()
    assert verdict_of(found) is RepairVerdict.BROKEN
    assert "holds the lock" in capsys.readouterr().out


def test_one_that_was_cancelled_counts_as_cancelled(found: OfflineRepairRun) -> None:
    left(found, end="ran", rc=254, status="canceled")
    found.resume()
    assert verdict_of(found) is RepairVerdict.CANCELLED


def test_one_that_was_ended_by_force_counts_as_cancelled_too(found: OfflineRepairRun) -> None:
    folder_of(found).mkdir(parents=True)
    (folder_of(found) / "started").touch()  # And no word of its end: its process was killed.
    for _ in range(2):
        request_offline_cancel(found.cluster, found.run)
    found.drive(driver.RepairDriver.resume)
    assert verdict_of(found) is RepairVerdict.CANCELLED


def test_a_repair_that_the_catalogue_has_no_more_is_given_up(found: OfflineRepairRun, tmp_path: Path) -> None:
    left(found, end="ran", rc=0, status="successful")
    settings = replace(found.cluster.settings, ansible_dir=tmp_path / "empty")
    OfflineRepairRun(replace(found.cluster, settings=settings), found.run).resume()
    assert verdict_of(found) is RepairVerdict.BROKEN


@pytest.mark.parametrize(
    ("presses", "verdict", "is_forced"),
    [(1, RepairVerdict.CANCELLED, False), (2, RepairVerdict.CANCELLED, True)],
)
def test_ctrl_c_cancels_also_while_it_is_prepared(
    found: OfflineRepairRun,
    monkeypatch: pytest.MonkeyPatch,
    presses: int,
    verdict: RepairVerdict,
    is_forced: bool,
) -> None:
    def press(*_: object) -> Path:
        for _press in range(presses):
            signal.raise_signal(signal.SIGINT)
        return Path("/bin/python")

    monkeypatch.setattr(playbook_runs, "ensure_ansible", press)
    before = signal.getsignal(signal.SIGINT)
    found.start()
    assert (verdict_of(found), found.run.is_forced) == (verdict, is_forced)
    assert not folder_of(found).exists() and signal.getsignal(signal.SIGINT) is before


def test_the_third_ctrl_c_leaves_the_console_and_the_run_as_it_is(
    found: OfflineRepairRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    def press(*_: object) -> Path:
        for _press in range(3):
            signal.raise_signal(signal.SIGINT)
        raise AssertionError("it went on")

    monkeypatch.setattr(playbook_runs, "ensure_ansible", press)
    with pytest.raises(KeyboardInterrupt):
        found.start()
    (record,) = list_offline_records(found.cluster)
    assert record.ended_at is None
    found.resume()
    assert verdict_of(found) is RepairVerdict.BROKEN


def test_the_master_is_named_by_the_settings_or_by_its_machine(
    found: OfflineRepairRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(offline_run, "read_host_name", lambda: "lab-b")
    assert master_host_name(found.cluster) == "lab-b"
    named = replace(found.cluster, settings=replace(found.cluster.settings, master_node="gpu01"))
    assert master_host_name(named) == "gpu01"
