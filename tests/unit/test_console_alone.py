"""A run that a console began with the database away and another one finds: it is finished, never begun again."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from cluster.domain.repair_runs import Verdict
from cluster.domain.repairs import Check, CheckKind
from cluster.services.context import Cluster
from cluster.services.repair_catalogue import find_entry
from cluster.services.repair_records import list_records, write_record
from worker.console.alone import Alone, new_run
from worker.tasks import repairs


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(repairs, "patience_of", lambda entry: 0.0)


@pytest.fixture
def found(light_cluster: Cluster) -> Alone:
    """Written down, as the console that was killed left it."""
    (light_cluster.settings.state_dir / "log").mkdir()
    run = new_run(light_cluster, find_entry(light_cluster, "verify-access-log"), "pages hang", "root")
    write_record(light_cluster, run)
    return Alone(light_cluster, run)


def left(alone: Alone, **end: object) -> None:
    alone.folder.mkdir(parents=True)
    (alone.folder / "started").touch()
    (alone.folder / "exit.json").write_text(json.dumps(end))


def verdict_of(alone: Alone) -> Verdict | None:
    (record,) = list_records(alone.cluster)
    assert record.ended_at is not None and record.reason == "pages hang"
    return record.verdict


def test_one_that_had_not_begun_is_not_begun(found: Alone, capsys: pytest.CaptureFixture[str]) -> None:
    found.go_on()
    assert verdict_of(found) is Verdict.BROKEN
    assert not found.folder.exists()
    assert "Did not run" in capsys.readouterr().out


def test_one_that_another_console_prepares_is_left_to_it(
    found: Alone, capsys: pytest.CaptureFixture[str]
) -> None:
    with Alone(found.cluster, found.run).held():
        found.go_on()
    (record,) = list_records(found.cluster)
    assert record.ended_at is None
    assert "Another console" in capsys.readouterr().out
    found.go_on()
    assert verdict_of(found) is Verdict.BROKEN


def test_one_that_another_console_has_ended_meanwhile_stays_as_it_is(found: Alone) -> None:
    left(found, end="ran", rc=254, status="canceled")
    Alone(found.cluster, list_records(found.cluster)[0]).go_on()
    (found.folder / "exit.json").write_text('{"end": "locked"}')
    found.go_on()
    assert verdict_of(found) is Verdict.CANCELLED


def test_one_that_ran_meanwhile_is_judged_by_its_checks(found: Alone) -> None:
    left(found, end="ran", rc=0, status="successful")
    found.go_on()
    assert verdict_of(found) is Verdict.NOT_VERIFIED


def test_one_that_met_another_on_the_same_machine_did_nothing(
    found: Alone, capsys: pytest.CaptureFixture[str]
) -> None:
    left(found, end="locked")
    found.go_on()
    assert verdict_of(found) is Verdict.BROKEN
    assert "holds the lock" in capsys.readouterr().out


def test_one_that_was_cancelled_counts_as_cancelled(found: Alone) -> None:
    left(found, end="ran", rc=254, status="canceled")
    found.go_on()
    assert verdict_of(found) is Verdict.CANCELLED


def test_one_that_was_ended_by_force_counts_as_cancelled_too(found: Alone) -> None:
    found.folder.mkdir(parents=True)
    (found.folder / "started").touch()  # And no word of its end: its process was killed.
    found.run.is_forced = True
    found.go_on()
    assert verdict_of(found) is Verdict.CANCELLED


def test_a_repair_that_the_catalogue_has_no_more_is_given_up(found: Alone, tmp_path: Path) -> None:
    left(found, end="ran", rc=0, status="successful")
    settings = replace(found.cluster.settings, ansible_dir=tmp_path / "empty")
    Alone(replace(found.cluster, settings=settings), found.run).go_on()
    assert verdict_of(found) is Verdict.BROKEN


def test_what_only_the_database_knows_is_said_to_be_unknown(found: Alone, tmp_path: Path) -> None:
    (Path(found.cluster.store.url.database or "")).write_bytes(b"no database" * 100)
    checks = [Check(CheckKind.AUDIT_WHOLE), Check(CheckKind.DISK_FREE, {"share": 0.0})]
    answers = list(found.answers(checks, found.cluster.clock(), None))
    assert [(answer.is_ok, answer.code) for answer in answers] == [
        (False, "check.not_read"),
        (True, "check.disk_free.ok"),
    ]
