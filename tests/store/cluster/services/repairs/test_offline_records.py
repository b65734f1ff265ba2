"""Records of the console that were written without the database become rows: once, whole, and after their end."""

import pytest

from cluster.domain.repairs.run_matrix import RepairVerdict
from cluster.services.audit import entries as audit
from cluster.services.context import Cluster
from cluster.services.repairs import repair_runs
from cluster.services.repairs.offline_records import (
    import_offline_records,
    list_offline_records,
    offline_record_file,
    offline_records_folder,
    write_offline_record,
)
from cluster.store.repairs import RepairRun
from tests.builders import actor_of, an_administrator
from tests.crash.failpoint_deaths import death_at


def a_run(cluster: Cluster, **changed: object) -> RepairRun:
    now = cluster.clock()
    values: dict[str, object] = {
        "offline_record": "1234567890123456",
        "name": "restart-master-services",
        "target": "master",
        "host": "lab-a",
        "digest": "d",
        "reason": "nothing is saved",
        "console_user": "root",
        "requested_at": now,
        "started_at": now,
        "ended_at": now,
        "verdict": RepairVerdict.VERIFIED,
        "playbook_rc": 0,
        "is_forced": False,
        "tasks": [{"name": "Restart Redis", "hosts": {"lab-a": "changed"}}],
        "before": [],
        "checks": [{"is_ok": True, "code": "check.redis_answers.ok", "data": {}}],
    }
    return RepairRun(**values | changed)


def test_a_record_becomes_one_row_with_its_audit_entries(cluster: Cluster) -> None:
    write_offline_record(cluster, a_run(cluster))
    (run_id,) = import_offline_records(cluster)
    chief = actor_of(an_administrator(cluster))
    run = repair_runs.read_repair_run(cluster, chief, run_id)
    assert (run.who, run.verdict, run.requested_at, run.number) == (
        "root",
        RepairVerdict.VERIFIED,
        cluster.clock(),
        "1234567890123456",
    )
    entries = audit.list_audit_entries(cluster, chief, object_kind="repair", object_id=run_id)
    assert [(entry.action, entry.actor_name, entry.outcome) for entry in entries] == [
        ("repair.ended", "root", "done"),
        ("repair.asked", "root", "done"),
    ]
    assert entries[1].data["reason"] == "nothing is saved"
    assert list(offline_records_folder(cluster).iterdir()) == []


def test_a_reader_that_dies_before_it_deletes_the_file_is_followed_by_one_that_adds_nothing(
    cluster: Cluster,
) -> None:
    write_offline_record(cluster, a_run(cluster))
    with death_at("repair_record.delete asking"):
        import_offline_records(cluster)
    assert offline_record_file(cluster, a_run(cluster)).exists()
    assert import_offline_records(cluster) == []
    assert len(repair_runs.list_repair_runs(cluster, actor_of(an_administrator(cluster)))) == 1
    assert list_offline_records(cluster) == []


@pytest.mark.parametrize("text", ['{"offline_record": ', "[]", '{"offline_record": "2", "requested_at": 5}'])
def test_a_run_that_is_not_over_and_a_file_that_says_nothing_stay(cluster: Cluster, text: str) -> None:
    path = write_offline_record(cluster, a_run(cluster, ended_at=None, verdict=None))
    broken = path.with_name("2.json")
    broken.write_text(text)
    assert import_offline_records(cluster) == []
    assert path.exists() and broken.exists()


def test_a_record_that_somebody_else_reads_in_meanwhile_stops_nobody(cluster: Cluster) -> None:
    write_offline_record(cluster, a_run(cluster))
    (offline_records_folder(cluster) / "gone.json").symlink_to("deleted between the list and the look")
    assert [run.offline_record for run in list_offline_records(cluster)] == ["1234567890123456"]
