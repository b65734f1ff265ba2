"""What the console prints of a run: each state of each host once, and the end with its reason."""

import pytest

from cluster.domain.repairs.run_matrix import HostTaskState, RepairVerdict
from cluster.services.context import Cluster
from cluster.services.repairs.catalogue import find_catalogue_entry
from cluster.services.repairs.offline_records import list_offline_records
from cluster.services.repairs.offline_runs import new_offline_run, request_offline_cancel
from worker.console.progress_table import (
    ConsoleRecorder,
    ProgressTable,
    host_task_state_name,
    show_check_results,
    verdict_name,
)
from worker.repairs.driver import STEP_PLAYBOOK, STEP_PREPARE, STEP_VERIFY


def printed(capsys: pytest.CaptureFixture[str]) -> list[str]:
    return [line.strip() for line in capsys.readouterr().out.splitlines()]


@pytest.fixture
def recorder(light_cluster: Cluster) -> ConsoleRecorder:
    entry = find_catalogue_entry(light_cluster, "restart-portal")
    return ConsoleRecorder(
        light_cluster, new_offline_run(light_cluster, entry, "lab-a", "pages hang", "root")
    )


@pytest.mark.parametrize("verdict", RepairVerdict)
def test_each_verdict_has_its_words(verdict: RepairVerdict) -> None:
    assert verdict_name(verdict) and verdict_name(verdict) != verdict.value


@pytest.mark.parametrize("state", HostTaskState)
def test_each_state_of_a_task_has_its_words(state: HostTaskState) -> None:
    assert host_task_state_name(state)


def test_a_state_is_printed_when_it_changes(capsys: pytest.CaptureFixture[str]) -> None:
    table = ProgressTable(None)
    running = {"name": "Stop it", "hosts": {"lab-a": "running"}}
    failed = {
        "name": "Stop it",
        "hosts": {"lab-a": "failed"},
        "seconds": 1.25,
        "output": {"lab-a": "no room\nat all"},
    }
    for tasks in ([running], [running], [failed], [failed]):
        table.show(tasks)
    assert printed(capsys) == [
        "[running] lab-a: Stop it",
        "[failed 1.2 s] lab-a: Stop it",
        "no room",
        "at all",
    ]


def test_the_checks_are_printed_with_their_marks(
    light_cluster: Cluster, capsys: pytest.CaptureFixture[str]
) -> None:
    checks = [
        {"is_ok": True, "code": "check.portal_answers.ok", "data": {}},
        {"is_ok": False, "code": "check.not_read", "data": {}},
    ]
    show_check_results(light_cluster, checks)
    first, second = printed(capsys)
    assert first == "[ok] the portal answers" and second.startswith("[failed] ")


def test_what_begins_and_what_was_asked_for_is_said_once(
    recorder: ConsoleRecorder, capsys: pytest.CaptureFixture[str]
) -> None:
    for step in (STEP_PREPARE, STEP_PLAYBOOK, STEP_VERIFY):
        recorder.record_step(step)
    assert printed(capsys) == ["Preparing.", f"Repair {recorder.run.number} has begun. Ctrl-C cancels it."]
    request_offline_cancel(recorder.cluster, recorder.run)
    assert recorder.read_run() is recorder.read_run() is recorder.run
    assert printed(capsys) == ["It is asked to end. Ctrl-C once more ends it by force."]


def test_the_end_is_written_and_printed_with_its_reason(
    recorder: ConsoleRecorder, capsys: pytest.CaptureFixture[str]
) -> None:
    tasks = [{"name": recorder.run.tasks[0]["name"], "hosts": {"lab-a": "ok"}, "seconds": 0.5}]
    recorder.record_tasks(tasks, 1.0)
    recorder.record_end(RepairVerdict.BROKEN, None, [], "repair.locked")
    (record,) = list_offline_records(recorder.cluster)
    assert (record.verdict, record.tasks) == (RepairVerdict.BROKEN, tasks)
    task, reason, verdict, path = printed(capsys)
    assert task.startswith("[ok 0.5 s] lab-a:") and "holds the lock" in reason and verdict == "Did not run"
    assert f"{record.offline_record}.json" in path
