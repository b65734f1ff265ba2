"""A run that a console began with the database away and another one finds: it is finished, never begun again."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from cluster.domain.repairs.definition import CheckKind, RepairCheck
from cluster.domain.repairs.run_matrix import RepairVerdict
from cluster.services.context import Cluster
from cluster.services.repairs.catalogue import find_catalogue_entry
from cluster.services.repairs.offline_records import list_offline_records, write_offline_record
from worker.console.offline_run import OfflineRepairRun, new_offline_run
from worker.tasks import repairs


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(repairs, "verification_seconds", lambda entry: 0.0)


@pytest.fixture
def found(light_cluster: Cluster) -> OfflineRepairRun:
    """Written down, as the console that was killed left it."""
    (light_cluster.settings.state_dir / "log").mkdir()
    run = new_offline_run(
        light_cluster, find_catalogue_entry(light_cluster, "verify-access-log"), "pages hang", "root"
    )
    write_offline_record(light_cluster, run)
    return OfflineRepairRun(light_cluster, run)


def left(alone: OfflineRepairRun, **end: object) -> None:
    alone.folder.mkdir(parents=True)
    (alone.folder / "started").touch()
    (alone.folder / "exit.json").write_text(json.dumps(end))


def verdict_of(alone: OfflineRepairRun) -> RepairVerdict | None:
    (record,) = list_offline_records(alone.cluster)
    assert record.ended_at is not None and record.reason == "pages hang"
    return record.verdict


def test_one_that_had_not_begun_is_not_begun(
    found: OfflineRepairRun, capsys: pytest.CaptureFixture[str]
) -> None:
    found.resume()
    assert verdict_of(found) is RepairVerdict.BROKEN
    assert not found.folder.exists()
    assert "Did not run" in capsys.readouterr().out


def test_one_that_another_console_prepares_is_left_to_it(
    found: OfflineRepairRun, capsys: pytest.CaptureFixture[str]
) -> None:
    with OfflineRepairRun(found.cluster, found.run).hold_lock():
        found.resume()
    (record,) = list_offline_records(found.cluster)
    assert record.ended_at is None
    assert "Another console" in capsys.readouterr().out
    found.resume()
    assert verdict_of(found) is RepairVerdict.BROKEN


def test_one_that_another_console_has_ended_meanwhile_stays_as_it_is(found: OfflineRepairRun) -> None:
    left(found, end="ran", rc=254, status="canceled")
    OfflineRepairRun(found.cluster, list_offline_records(found.cluster)[0]).resume()
    (found.folder / "exit.json").write_text('{"end": "locked"}')
    found.resume()
    assert verdict_of(found) is RepairVerdict.CANCELLED


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
    found.folder.mkdir(parents=True)
    (found.folder / "started").touch()  # And no word of its end: its process was killed.
    found.run.is_forced = True
    found.resume()
    assert verdict_of(found) is RepairVerdict.CANCELLED


def test_a_repair_that_the_catalogue_has_no_more_is_given_up(found: OfflineRepairRun, tmp_path: Path) -> None:
    left(found, end="ran", rc=0, status="successful")
    settings = replace(found.cluster.settings, ansible_dir=tmp_path / "empty")
    OfflineRepairRun(replace(found.cluster, settings=settings), found.run).resume()
    assert verdict_of(found) is RepairVerdict.BROKEN


def test_what_only_the_database_knows_is_said_to_be_unknown(found: OfflineRepairRun, tmp_path: Path) -> None:
    (Path(found.cluster.store.url.database or "")).write_bytes(b"no database" * 100)
    checks = [RepairCheck(CheckKind.AUDIT_WHOLE), RepairCheck(CheckKind.DISK_FREE, {"share": 0.0})]
    answers = list(found.check_one_by_one(checks, found.cluster.clock(), None))
    assert [(answer.is_ok, answer.code) for answer in answers] == [
        (False, "check.not_read"),
        (True, "check.disk_free.ok"),
    ]
