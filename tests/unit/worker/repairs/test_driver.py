"""One state machine drives every repair run; the row and the file record the same of it."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from cluster.domain.errors import Unavailable
from cluster.domain.repairs.check_results import CheckResult
from cluster.domain.repairs.definition import CheckKind, RepairCheck
from cluster.domain.repairs.run_matrix import RepairVerdict
from cluster.services.context import Cluster
from cluster.services.operations.lifecycle import claim_operation
from cluster.services.repairs import previews, repair_runs
from cluster.services.repairs.catalogue import find_catalogue_entry
from cluster.services.repairs.offline_runs import FileRecorder, new_offline_run, request_offline_cancel
from cluster.store.repairs import RepairRun
from tests.builders import a_node, actor_of, an_administrator
from worker.adapters import playbooks
from worker.adapters.playbooks import PlaybookRequest
from worker.repairs import driver, playbook_runs
from worker.repairs.driver import Data, RepairDriver, RepairRecorder
from worker.tasks.repairs import WEIGHTS, RowRecorder
from worker.tasks.step_progress import StepProgress

NAME = "restart-portal"
GREEN = CheckResult(True, "check.portal_answers.ok", {})
RED = CheckResult(False, "check.portal_answers.not", {"status": None})
ENDED_WELL = {"end": "ran", "rc": 0, "status": "successful"}


class NotedRecorder(FileRecorder):
    """Also notes what it is told, in order."""

    def __init__(self, cluster: Cluster, run: RepairRun) -> None:
        super().__init__(cluster, run)
        self.notes: list[Any] = []

    def record_step(self, step: str) -> None:
        self.notes.append(step)

    def record_start(self, before: Data) -> None:
        self.notes.append("started")
        super().record_start(before)

    def record_tasks(self, tasks: Data, share: float) -> None:
        self.notes.append((share, [task["hosts"].get("lab-a") for task in tasks]))
        super().record_tasks(tasks, share)

    def record_checks(self, checks: Data) -> None:
        self.notes.append([check["is_ok"] for check in checks])

    def record_end(self, verdict: RepairVerdict, rc: int | None, checks: Data, code: str = "") -> None:
        self.notes.append((verdict, rc, code))
        super().record_end(verdict, rc, checks, code)


@dataclass
class Stage:
    """Checks and playbooks behave as a test says: nothing of Ansible runs."""

    cluster: Cluster
    end: dict[str, Any] = field(default_factory=lambda: dict(ENDED_WELL))
    events: list[dict[str, Any]] = field(default_factory=list)
    results: list[list[CheckResult]] = field(default_factory=list)
    """What each look at the checks finds; the last one stays."""
    begun: list[PlaybookRequest] = field(default_factory=list)
    while_it_prepares: Callable[[], None] = lambda: None

    def prepare(self, cluster: Cluster, log: Path) -> Path:
        self.while_it_prepares()
        return Path("/bin/python")

    def begin(self, play: PlaybookRequest) -> None:
        self.begun.append(play)
        leave(play.folder, self.events, self.end)

    def check(self, *_: Any) -> list[CheckResult]:
        return self.results.pop(0) if len(self.results) > 1 else self.results[0]


def leave(folder: Path, events: list[dict[str, Any]], end: dict[str, Any] | None) -> None:
    """As a playbook's process leaves its folder."""
    where = folder / "artifacts" / "run" / "job_events"
    where.mkdir(parents=True)
    (folder / "started").touch()
    for number, event in enumerate(events, 1):
        (where / f"{number}-00000000-0000-0000-0000-{number:012}.json").write_text(json.dumps(event))
    if end is not None:
        (folder / "exit.json").write_text(json.dumps(end))


@pytest.fixture
def stage(light_cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> Stage:
    for folder in ("log", "run"):
        (light_cluster.settings.state_dir / folder).mkdir(exist_ok=True)
    a_node(light_cluster, 2, name="lab-a")
    stage = Stage(light_cluster, results=[[RED], [GREEN]])
    monkeypatch.setattr(playbook_runs, "ensure_ansible", stage.prepare)
    monkeypatch.setattr(playbooks, "start_playbook_process", stage.begin)
    monkeypatch.setattr(driver, "run_checks", stage.check)
    monkeypatch.setattr(driver.time, "sleep", lambda _: None)
    return stage


def a_run(stage: Stage) -> RepairRun:
    entry = find_catalogue_entry(stage.cluster, NAME)
    return new_offline_run(stage.cluster, entry, "lab-a", "pages hang", "root")


def driver_of(stage: Stage, recorder: RepairRecorder, *checks: CheckKind) -> RepairDriver:
    entry = find_catalogue_entry(stage.cluster, NAME)
    if checks:
        wanted = tuple(RepairCheck(kind) for kind in checks)
        entry = replace(entry, repair=replace(entry.repair, checks=wanted))
    return RepairDriver(stage.cluster, entry, recorder, stage.cluster.settings.state_dir / "log" / "run.log")


def an_event(kind: str, task: str, **data: Any) -> dict[str, Any]:
    return {"event": kind, "event_data": {"task": task, "host": "lab-a", **data}}


def test_a_run_goes_from_its_preparation_to_its_verdict(stage: Stage) -> None:
    tasks = [task.en for task in find_catalogue_entry(stage.cluster, NAME).repair.tasks]
    stage.events = [an_event("runner_on_ok", task, res={"changed": True}) for task in tasks]
    recorder = NotedRecorder(stage.cluster, a_run(stage))
    driver_of(stage, recorder).drive()
    assert recorder.notes == [
        driver.STEP_PREPARE,
        driver.STEP_PROBE,
        "started",
        driver.STEP_PLAYBOOK,
        (1.0, ["changed"] * len(tasks)),
        driver.STEP_VERIFY,
        (RepairVerdict.VERIFIED, 0, ""),
    ]
    assert [check["is_ok"] for check in recorder.run.before] == [False]
    assert [play.hosts for play in stage.begun] == [["lab-a"]]


@pytest.mark.parametrize(
    ("end", "results", "checks", "verdict", "code"),
    [
        (ENDED_WELL, [GREEN], (), RepairVerdict.VERIFIED, ""),
        (ENDED_WELL, [RED], (), RepairVerdict.NOT_VERIFIED, ""),
        ({"end": "ran", "rc": 2, "status": "failed"}, [GREEN], (), RepairVerdict.VERIFIED, ""),
        ({"end": "ran", "rc": 2, "status": "failed"}, [RED], (), RepairVerdict.NOT_VERIFIED, ""),
        ({"end": "ran", "rc": 254, "status": "canceled"}, [RED], (), RepairVerdict.CANCELLED, ""),
        ({"end": "locked"}, [GREEN], (), RepairVerdict.BROKEN, "repair.locked"),
        (None, [GREEN], (), RepairVerdict.BROKEN, "repair.vanished"),
        (None, [GREEN], (CheckKind.HOST_STARTED,), RepairVerdict.VERIFIED, ""),
    ],
    ids=[
        "verified", "red", "failed and green", "failed and red", "cancelled", "locked", "vanished", "rebooted"
    ],
)  # fmt: skip
def test_the_end_of_the_playbook_and_the_checks_give_the_verdict(
    stage: Stage,
    monkeypatch: pytest.MonkeyPatch,
    end: dict[str, Any] | None,
    results: list[CheckResult],
    checks: tuple[CheckKind, ...],
    verdict: RepairVerdict,
    code: str,
) -> None:
    monkeypatch.setattr(driver, "verification_seconds", lambda entry: 0.0)
    recorder = NotedRecorder(stage.cluster, a_run(stage))
    leave(playbook_runs.repair_run_folder(stage.cluster, recorder.run), [], end)
    stage.results = [results]
    driver_of(stage, recorder, *checks).resume()
    assert (recorder.notes[-1][0], recorder.notes[-1][2]) == (verdict, code)


def test_a_dry_run_is_not_verified_by_checks(stage: Stage) -> None:
    recorder = NotedRecorder(stage.cluster, a_run(stage))
    recorder.run.is_dry_run = True
    leave(playbook_runs.repair_run_folder(stage.cluster, recorder.run), [], ENDED_WELL)
    driver_of(stage, recorder).resume()
    assert recorder.notes[-1] == (RepairVerdict.DRY_RUN, 0, "")


def test_the_checks_are_looked_at_until_they_are_green(stage: Stage) -> None:
    stage.results = [[RED], [RED], [RED], [GREEN]]
    recorder = NotedRecorder(stage.cluster, a_run(stage))
    driver_of(stage, recorder).drive()
    assert recorder.notes[-3:] == [[False], [False], (RepairVerdict.VERIFIED, 0, "")]


def test_nobody_waits_for_checks_after_a_cancellation(stage: Stage) -> None:
    run = a_run(stage)
    recorder = NotedRecorder(stage.cluster, run)
    leave(playbook_runs.repair_run_folder(stage.cluster, run), [], ENDED_WELL)
    driven = driver_of(stage, recorder)
    end = driven.watch_playbook()
    request_offline_cancel(stage.cluster, run)
    stage.results = [[RED]]
    driven.verify_and_end(end)
    assert recorder.notes[-1] == (RepairVerdict.CANCELLED, 0, "")


def test_a_run_that_is_cancelled_while_it_is_prepared_never_begins(stage: Stage) -> None:
    run = a_run(stage)
    stage.while_it_prepares = lambda: request_offline_cancel(stage.cluster, run)
    recorder = NotedRecorder(stage.cluster, run)
    driver_of(stage, recorder).drive()
    assert stage.begun == []
    assert recorder.notes[-1] == (RepairVerdict.CANCELLED, None, "repair.cancelled_before")


@pytest.mark.parametrize(("presses", "asked"), [(0, []), (1, [False]), (2, [True])])
def test_a_playbook_is_asked_to_end_once_for_each_wish(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, presses: int, asked: list[bool]
) -> None:
    requests: list[bool] = []
    recorder = NotedRecorder(stage.cluster, a_run(stage))
    folder = playbook_runs.repair_run_folder(stage.cluster, recorder.run)
    leave(folder, [], None)
    ends = iter([None, None, None, playbooks.PlaybookEnd(254, "canceled")])
    monkeypatch.setattr(playbooks, "read_playbook_end", lambda _: next(ends))
    monkeypatch.setattr(
        playbook_runs, "request_end", lambda cluster, folder, is_forced: requests.append(is_forced) or True
    )
    for _ in range(presses):
        request_offline_cancel(stage.cluster, recorder.run)
    assert driver_of(stage, recorder).watch_playbook().status == "canceled"
    assert requests == asked


def test_an_end_that_could_not_be_asked_for_is_asked_for_again(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers, requests = iter([False, True]), []
    recorder = NotedRecorder(stage.cluster, a_run(stage))
    request_offline_cancel(stage.cluster, recorder.run)
    ends = iter([None, None, None, playbooks.PlaybookEnd(254, "canceled")])
    monkeypatch.setattr(playbooks, "read_playbook_end", lambda _: next(ends))
    monkeypatch.setattr(
        playbook_runs, "request_end", lambda *_, is_forced: requests.append(is_forced) or next(answers)
    )
    driver_of(stage, recorder).watch_playbook()
    assert requests == [False, False]


def test_a_file_that_has_changed_since_the_preview_runs_nothing(stage: Stage) -> None:
    run = a_run(stage)
    run.digest = "of another file"
    with pytest.raises(Unavailable, match=r"repair\.files_changed"):
        driver_of(stage, NotedRecorder(stage.cluster, run)).drive()
    assert stage.begun == []


def test_the_row_and_the_file_record_the_same(stage: Stage) -> None:
    tasks = [task.en for task in find_catalogue_entry(stage.cluster, NAME).repair.tasks]
    stage.events = [an_event("runner_on_ok", tasks[0]), an_event("runner_on_failed", tasks[1])]
    stage.end = {"end": "ran", "rc": 2, "status": "failed"}
    recorded = []
    for recorder in (row_recorder(stage), FileRecorder(stage.cluster, a_run(stage))):
        stage.results = [[GREEN], [RED]]
        driver_of(stage, recorder).drive()
        run = recorder.read_run()
        recorded.append(
            (run.verdict, run.playbook_rc, run.tasks, run.before, run.checks, run.started_at, run.ended_at)
        )
    assert recorded[0] == recorded[1]
    assert recorded[0][:2] == (RepairVerdict.NOT_VERIFIED, 2)


def row_recorder(stage: Stage) -> RowRecorder:
    """Of a run that a task worker has claimed."""
    cluster = stage.cluster
    chief = actor_of(an_administrator(cluster))
    etag = previews.preview_repair(cluster, chief, NAME).etag
    run = repair_runs.request_repair(cluster, chief, NAME, etag, "pages hang")
    operation = claim_operation(cluster, run.operation_id or 0, "a task worker")
    assert operation is not None
    return RowRecorder(cluster, operation, StepProgress(cluster, operation, WEIGHTS))
