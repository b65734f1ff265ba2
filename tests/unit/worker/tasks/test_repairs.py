"""The task of a repair without Ansible: what never begins, what is not waited for, what is not taken for its own."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cluster.domain.errors import Unavailable
from cluster.domain.people.actor import Actor
from cluster.domain.repairs.check_results import CheckResult
from cluster.domain.repairs.run_matrix import RepairVerdict
from cluster.services.context import Cluster
from cluster.services.operations import queries
from cluster.services.repairs import previews
from cluster.services.repairs import repair_runs as repairs
from cluster.store.repairs import RepairRun
from tests.builders import a_node, actor_of, an_administrator
from worker.adapters import playbooks
from worker.repairs import driver, playbook_runs
from worker.tasks.repairs import WEIGHTS
from worker.tasks.run import run_claimed


@pytest.fixture
def chief(light_cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> Actor:
    """Of an installation whose checks are red, and where no playbook runs."""
    for folder in ("log", "run"):
        (light_cluster.settings.state_dir / folder).mkdir(exist_ok=True)
    monkeypatch.setattr(playbook_runs, "ensure_ansible", lambda cluster, log: Path("/bin/python"))
    monkeypatch.setattr(
        driver,
        "run_checks",
        lambda *_: [CheckResult(False, "check.portal_answers.not", {"status": None})],
    )
    monkeypatch.setattr(playbooks, "start_playbook_process", begins_nothing)
    a_node(light_cluster, 2, name="lab-a")
    return actor_of(an_administrator(light_cluster))


def begins_nothing(play: Any) -> None:
    raise AssertionError("it was begun")


def ask(cluster: Cluster, chief: Actor) -> RepairRun:
    etag = previews.preview_repair(cluster, chief, "restart-portal").etag
    return repairs.request_repair(cluster, chief, "restart-portal", etag, "pages hang")


def work(cluster: Cluster, chief: Actor, run: RepairRun) -> tuple[RepairVerdict | None, str | None]:
    run_claimed(cluster, run.operation_id or 0)
    operation = queries.read_operation(cluster, chief, run.operation_id or 0)
    return repairs.read_repair_run(cluster, chief, run.id).verdict, operation.error_code


def left_behind(cluster: Cluster, run: RepairRun) -> None:
    """As a playbook that ended well leaves it."""
    folder = playbook_runs.repair_run_folder(cluster, run)
    folder.mkdir(parents=True)
    (folder / "started").touch()
    (folder / "exit.json").write_text(json.dumps({"end": "ran", "rc": 0, "status": "successful"}))


def cancelling(cluster: Cluster, chief: Actor, run: RepairRun, answer: Any) -> Callable[..., Any]:
    """In place of a step: a person cancels meanwhile."""

    def step(*_: object) -> Any:
        if repairs.read_repair_run(cluster, chief, run.id).cancel_requested_at is None:
            repairs.cancel_repair(cluster, chief, run.id)
        return answer

    return step


def test_one_that_is_cancelled_before_anybody_takes_it_up_is_not_even_prepared(
    light_cluster: Cluster, chief: Actor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(playbook_runs, "ensure_ansible", begins_nothing)
    run = ask(light_cluster, chief)
    repairs.cancel_repair(light_cluster, chief, run.id)
    assert work(light_cluster, chief, run) == (RepairVerdict.CANCELLED, "repair.cancelled_before")
    ask(light_cluster, chief)  # Its target is free again.


def test_one_that_is_cancelled_while_it_is_prepared_never_begins(
    light_cluster: Cluster, chief: Actor, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = ask(light_cluster, chief)
    step = cancelling(light_cluster, chief, run, Path("/bin/python"))
    monkeypatch.setattr(playbook_runs, "ensure_ansible", step)
    assert work(light_cluster, chief, run) == (RepairVerdict.CANCELLED, "repair.cancelled_before")


def test_what_lies_in_its_folder_from_a_life_that_a_restore_has_left_is_not_taken_for_its_own(
    light_cluster: Cluster, chief: Actor, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun: list[Any] = []
    monkeypatch.setattr(playbooks, "start_playbook_process", begun.append)
    vanished = playbooks.PlaybookEnd(None, "vanished")
    monkeypatch.setattr(driver.RepairDriver, "watch_playbook", lambda _: vanished)
    run = ask(light_cluster, chief)
    left_behind(light_cluster, run)
    assert work(light_cluster, chief, run) == (RepairVerdict.BROKEN, "repair.vanished")
    assert [play.folder for play in begun] == [playbook_runs.repair_run_folder(light_cluster, run)]
    assert not (begun[0].folder / "exit.json").exists()


def test_nobody_waits_for_checks_after_a_cancellation(
    light_cluster: Cluster, chief: Actor, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = ask(light_cluster, chief)
    left_behind(light_cluster, run)
    with light_cluster.store.write() as session:
        session.get_one(RepairRun, run.id).started_at = light_cluster.clock()
    red = [CheckResult(False, "check.portal_answers.not", {"status": None})]
    monkeypatch.setattr(driver, "run_checks", cancelling(light_cluster, chief, run, red))
    monkeypatch.setattr(driver, "verification_seconds", lambda entry: 3600.0)
    monkeypatch.setattr(driver.time, "sleep", begins_nothing)
    assert work(light_cluster, chief, run) == (RepairVerdict.CANCELLED, "repair.cancelled")


def test_the_row_has_each_step_the_checks_that_are_waited_for_and_the_log(
    light_cluster: Cluster, chief: Actor, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = ask(light_cluster, chief)
    red, green = CheckResult(False, "check.not_read", {}), CheckResult(True, "check.portal_answers.ok", {})
    results = [[red], [red], [green]]
    waited: list[Any] = []

    def begin(play: Any) -> None:
        left_behind(light_cluster, run)
        playbooks.log_file(play.folder).parent.mkdir(parents=True)
        playbooks.log_file(play.folder).write_text("PLAY RECAP\n")

    def wait(_: float) -> None:
        waited.append(repairs.read_repair_run(light_cluster, chief, run.id).checks)

    monkeypatch.setattr(playbooks, "start_playbook_process", begin)
    monkeypatch.setattr(driver, "run_checks", lambda *_: results.pop(0))
    monkeypatch.setattr(driver.time, "sleep", wait)
    assert work(light_cluster, chief, run) == (RepairVerdict.VERIFIED, None)
    operation = queries.read_operation(light_cluster, chief, run.operation_id or 0)
    assert [(step["code"], step["state"]) for step in operation.steps] == [(step, "done") for step in WEIGHTS]
    assert all("started_at" in step for step in operation.steps)
    assert waited == [[red.to_data()]]
    log = light_cluster.settings.state_dir / "log" / f"operation-{operation.id}.log"
    assert log.read_text() == "PLAY RECAP\n"


def test_steps_begin_when_the_driver_comes_to_them(
    light_cluster: Cluster, chief: Actor, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = ask(light_cluster, chief)
    seen: list[str] = []

    def look(*_: Any) -> Path:
        operation = queries.read_operation(light_cluster, chief, run.operation_id or 0)
        seen.extend(step["code"] for step in operation.steps if step["state"] == "now")
        raise Unavailable("repair.no_ansible", line="no network")

    monkeypatch.setattr(playbook_runs, "ensure_ansible", look)
    assert work(light_cluster, chief, run) == (RepairVerdict.BROKEN, "repair.no_ansible")
    assert seen == [driver.STEP_PREPARE]
    ask(light_cluster, chief)  # Its target is free again.
