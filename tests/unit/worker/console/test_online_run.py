"""The console watches a run by its row, lends its own hands where nobody takes it up, and cancels by Ctrl-C."""

from collections.abc import Callable
from datetime import timedelta

import pytest

from cluster.domain.people.actor import Actor
from cluster.domain.repairs.run_matrix import RepairVerdict
from cluster.services.context import Cluster
from cluster.services.operations import lifecycle
from cluster.services.repairs import previews
from cluster.services.repairs import repair_runs as repairs
from cluster.store.repairs import RepairRun
from tests.builders import a_node, actor_of, an_administrator
from worker.console import online_run
from worker.console.online_run import OnlineRepairRun


@pytest.fixture
def chief(light_cluster: Cluster) -> Actor:
    a_node(light_cluster, 2, name="lab-a")
    return actor_of(an_administrator(light_cluster))


def a_request(cluster: Cluster, chief: Actor) -> RepairRun:
    etag = previews.preview_repair(cluster, chief, "restart-portal").etag
    return repairs.request_repair(cluster, chief, "restart-portal", etag, "pages hang", console_user="root")


def does(cluster: Cluster) -> Callable[[Cluster, int], None]:
    """In place of Ansible: claims it and ends it well."""

    def work(cluster: Cluster, operation_id: int) -> None:
        operation = lifecycle.claim_operation(cluster, operation_id, "the console")
        assert operation is not None
        checks = [{"is_ok": True, "code": "check.portal_answers.ok", "data": {}}]
        repairs.record_run_start(cluster, operation, [])
        repairs.record_run_end(cluster, operation, RepairVerdict.VERIFIED, 0, checks)

    return work


def follow(cluster: Cluster, chief: Actor, run: RepairRun, is_alone: bool) -> RepairRun:
    return OnlineRepairRun(cluster, chief, repairs.read_repair_run(cluster, chief, run.id), is_alone).follow()


def test_without_redis_the_console_takes_it_up_at_once(
    light_cluster: Cluster, chief: Actor, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(online_run, "run_claimed", does(light_cluster))
    run = follow(light_cluster, chief, a_request(light_cluster, chief), is_alone=True)
    assert (run.verdict, run.who) == (RepairVerdict.VERIFIED, "root")
    said = capsys.readouterr().out
    assert "This console runs it itself." in said and "[ok] the portal answers" in said


def test_a_task_worker_has_the_first_turn(light_cluster: Cluster, chief: Actor) -> None:
    run = a_request(light_cluster, chief)
    following = OnlineRepairRun(
        light_cluster, chief, repairs.read_repair_run(light_cluster, chief, run.id), False
    )
    assert not following.needs_own_thread()
    light_cluster.clock.move(seconds=6)  # type: ignore[attr-defined]
    assert following.needs_own_thread()
    operation = lifecycle.claim_operation(light_cluster, run.operation_id or 0, "a task worker")
    assert operation is not None
    following.run = repairs.read_repair_run(light_cluster, chief, run.id)
    assert not following.needs_own_thread()
    light_cluster.clock.now += lifecycle.CLAIM_LASTS + timedelta(seconds=6)  # type: ignore[attr-defined]
    assert following.needs_own_thread(), "whoever held it has died"


def test_hands_that_failed_are_lent_again(
    light_cluster: Cluster, chief: Actor, monkeypatch: pytest.MonkeyPatch
) -> None:
    tries: list[int] = []
    work = does(light_cluster)

    def stumble(cluster: Cluster, operation_id: int) -> None:
        tries.append(operation_id)
        if len(tries) > 1:
            work(cluster, operation_id)

    monkeypatch.setattr(online_run, "run_claimed", stumble)
    run = follow(light_cluster, chief, a_request(light_cluster, chief), is_alone=True)
    assert run.verdict is RepairVerdict.VERIFIED and len(tries) == 2


def test_ctrl_c_asks_first_and_ends_by_force_the_second_time(
    light_cluster: Cluster, chief: Actor, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = a_request(light_cluster, chief)
    looks: list[RepairRun] = []

    def press(seconds: float) -> None:
        looks.append(repairs.read_repair_run(light_cluster, chief, run.id))
        if len(looks) == 3:
            does(light_cluster)(light_cluster, run.operation_id or 0)
        elif len(looks) < 3:
            raise KeyboardInterrupt

    monkeypatch.setattr(online_run, "sleep", press)
    ended = follow(light_cluster, chief, run, is_alone=False)
    assert ended.cancel_requested_at is not None and ended.is_forced
    OnlineRepairRun(light_cluster, chief, ended, False).cancel()  # Over by now: nothing happens.
