"""A run without the database: its file says how far it is, one console holds it, and a cancel becomes a force."""

import pytest

from cluster.domain.errors import Refused
from cluster.domain.repairs.run_matrix import RepairVerdict
from cluster.services.context import Cluster
from cluster.services.repairs.catalogue import find_catalogue_entry
from cluster.services.repairs.offline_records import list_offline_records
from cluster.services.repairs.offline_runs import (
    FileRecorder,
    hold_offline_run,
    new_offline_run,
    read_unfinished_run,
    request_offline_cancel,
)
from cluster.store.repairs import RepairRun

BEFORE = [{"is_ok": False, "code": "check.portal_answers.not", "data": {}}]
AFTER = [{"is_ok": True, "code": "check.portal_answers.ok", "data": {}}]
TASKS = [{"name": "Restart it", "hosts": {"lab-a": "ok"}}]


def a_run(cluster: Cluster, reason: str = "pages hang") -> RepairRun:
    entry = find_catalogue_entry(cluster, "restart-portal")
    return new_offline_run(cluster, entry, "lab-a", reason, "root")


def written(cluster: Cluster) -> RepairRun:
    (record,) = list_offline_records(cluster)
    return record


def test_a_new_run_is_of_the_master_and_of_the_files_as_they_are(light_cluster: Cluster) -> None:
    run, other = a_run(light_cluster), a_run(light_cluster)
    assert (run.target, run.host, run.hosts, run.locks) == ("master", "lab-a", ["lab-a"], ["master"])
    assert run.digest == find_catalogue_entry(light_cluster, "restart-portal").digest
    assert (run.who, run.reason, run.requested_at) == ("root", "pages hang", light_cluster.clock())
    assert run.tasks and all(task["hosts"] == {} for task in run.tasks)
    assert run.number != other.number and run.number.isdigit()


def test_a_run_without_a_reason_is_refused(light_cluster: Cluster) -> None:
    with pytest.raises(Refused):
        a_run(light_cluster, reason=" ")


def test_one_process_at_a_time_holds_a_run(light_cluster: Cluster) -> None:
    run = a_run(light_cluster)
    with hold_offline_run(light_cluster, run) as is_ours:
        assert is_ours
        with hold_offline_run(light_cluster, run) as is_theirs:
            assert not is_theirs
        with hold_offline_run(light_cluster, a_run(light_cluster)) as is_another:
            assert is_another
    with hold_offline_run(light_cluster, run) as is_ours_again:
        assert is_ours_again


def test_the_file_has_the_start_and_the_end(light_cluster: Cluster) -> None:
    run = a_run(light_cluster)
    recorder = FileRecorder(light_cluster, run)
    recorder.write()
    assert read_unfinished_run(light_cluster, run) and written(light_cluster).started_at is None
    recorder.record_start(BEFORE)
    assert (written(light_cluster).before, written(light_cluster).started_at) == (
        BEFORE,
        light_cluster.clock(),
    )
    recorder.record_tasks(TASKS, 1.0)
    recorder.record_checks(BEFORE)
    assert (recorder.read_run().tasks, recorder.read_run().checks) == (TASKS, BEFORE)
    assert read_unfinished_run(light_cluster, run)
    recorder.record_end(RepairVerdict.VERIFIED, 0, AFTER)
    ended = written(light_cluster)
    assert (ended.verdict, ended.playbook_rc, ended.tasks, ended.checks) == (
        RepairVerdict.VERIFIED,
        0,
        TASKS,
        AFTER,
    )
    assert ended.ended_at == light_cluster.clock()
    assert read_unfinished_run(light_cluster, run) is None


def test_the_second_cancel_is_by_force(light_cluster: Cluster) -> None:
    run = a_run(light_cluster)
    wishes = []
    for _ in range(2):
        request_offline_cancel(light_cluster, run)
        light_cluster.clock.move(seconds=5)  # type: ignore[attr-defined]
        wishes.append((run.cancel_requested_at, run.is_forced))
    (first, is_forced), (second, is_forced_then) = wishes
    assert (is_forced, is_forced_then) == (False, True)
    assert first == second, "when it was first asked for"
