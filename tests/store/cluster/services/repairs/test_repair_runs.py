"""Asking for a repair: what was seen is what runs, one at a time per target, and all of it is audited."""

import threading
from dataclasses import replace
from datetime import timedelta

import pytest
from sqlalchemy import select

from cluster.domain.errors import Conflict, Forbidden, NotFound, Refused
from cluster.domain.people.actor import Actor
from cluster.domain.repairs.run_matrix import RepairVerdict
from cluster.domain.states import OperationState
from cluster.services.audit import entries
from cluster.services.context import Cluster
from cluster.services.operations import lifecycle, queries, retries
from cluster.services.repairs import past_runs, previews
from cluster.services.repairs import repair_runs as repairs
from cluster.services.repairs.reclaimable_files import delete_reclaimable_of_run, list_reclaimable_paths
from cluster.services.repairs.repair_runs import record_run_end, record_run_start
from cluster.services.repairs.stuck_operations import count_stuck_operations, release_stuck_operations
from cluster.store.audit import AuditEntry
from cluster.store.operations import Operation
from cluster.store.repairs import RepairRun
from tests.builders import a_node, a_repair_run, a_user, actor_of, add, an_administrator


@pytest.fixture
def chief(cluster: Cluster) -> Actor:
    a_node(cluster, 2, name="lab-a")
    return actor_of(an_administrator(cluster))


def ask(cluster: Cluster, chief: Actor, name: str = "back-up-now", typed: str = "") -> RepairRun:
    etag = previews.preview_repair(cluster, chief, name).etag
    return repairs.request_repair(cluster, chief, name, etag, "before the update", typed)


def ended(
    cluster: Cluster, run: RepairRun, verdict: RepairVerdict = RepairVerdict.VERIFIED, seconds: float = 5
) -> None:
    operation = lifecycle.claim_operation(cluster, run.operation_id or 0, "a worker")
    assert operation is not None
    record_run_start(cluster, operation, [])
    cluster.clock.move(seconds=seconds)  # type: ignore[attr-defined]
    record_run_end(cluster, operation, verdict, 0, [])


def actions(cluster: Cluster) -> list[str]:
    with cluster.store.read() as session:
        return list(session.scalars(select(AuditEntry.action).where(AuditEntry.object_kind == "repair")))


def test_a_repair_is_a_row_an_operation_and_an_audit_entry(cluster: Cluster, chief: Actor) -> None:
    run = ask(cluster, chief)
    operation = queries.read_operation(cluster, chief, run.operation_id or 0)
    assert (operation.queue, operation.subject_id, run.host) == ("repair", run.id, "lab-a")
    assert actions(cluster) == ["repair.asked"]
    ended(cluster, run)
    assert actions(cluster) == ["repair.asked", "repair.ended"]
    assert repairs.read_repair_run(cluster, chief, run.id).verdict is RepairVerdict.VERIFIED


def test_the_second_one_hears_who_was_first(cluster: Cluster, chief: Actor) -> None:
    run = ask(cluster, chief)
    with pytest.raises(Conflict) as refused:
        ask(cluster, chief, "restart-task-workers")
    assert (refused.value.code, refused.value.data["run"]) == ("repair.under_way", run.id)
    assert refused.value.data["who"] == chief.name
    ended(cluster, run)
    ask(cluster, chief, "restart-task-workers")


def test_of_two_clicks_at_once_one_runs(cluster: Cluster, chief: Actor) -> None:
    etag = previews.preview_repair(cluster, chief, "back-up-now").etag
    results: list[str] = []
    gate = threading.Barrier(4)

    def click() -> None:
        gate.wait(20)
        try:
            repairs.request_repair(cluster, chief, "back-up-now", etag, "both of us", "")
            results.append("runs")
        except Conflict as conflict:
            results.append(conflict.code)

    clicks = [threading.Thread(target=click) for _ in range(4)]
    for each in clicks:
        each.start()
    for each in clicks:
        each.join(60)
    assert sorted(results) == ["repair.under_way"] * 3 + ["runs"]


def test_a_forecast_that_is_no_longer_true_runs_nothing(cluster: Cluster, chief: Actor) -> None:
    seen = previews.preview_repair(cluster, chief, "restart-task-workers").etag
    now = cluster.clock()
    add(cluster, Operation(kind="dataset.import", queue="general", subject_id=None, workspace_id=None,
                           requested_by=chief.user_id, requested_at=now, state=OperationState.RUNNING,
                           lease_until=now + timedelta(minutes=1)))  # fmt: skip
    with pytest.raises(Conflict) as refused:
        repairs.request_repair(cluster, chief, "restart-task-workers", seen, "stuck", "")
    assert refused.value.code == "repair.forecast_changed"
    assert len(previews.preview_repair(cluster, chief, "restart-task-workers").operations) == 1
    assert actions(cluster) == []


def test_a_reason_is_kept_and_a_dangerous_repair_wants_the_name(cluster: Cluster, chief: Actor) -> None:
    etag = previews.preview_repair(cluster, chief, "free-disk-space").etag
    for reason, typed in (("", "lab-a"), ("full", "lab-b"), ("full", "")):
        with pytest.raises(Refused):
            repairs.request_repair(cluster, chief, "free-disk-space", etag, reason, typed)
    assert repairs.request_repair(cluster, chief, "free-disk-space", etag, "full", "lab-a").reason == "full"


def test_nobody_else_sees_or_asks(cluster: Cluster, chief: Actor) -> None:
    user = actor_of(a_user(cluster))
    run = ask(cluster, chief)
    for refused in (
        lambda: past_runs.list_repair_summaries(cluster, user),
        lambda: previews.preview_repair(cluster, user, "back-up-now"),
        lambda: repairs.request_repair(cluster, user, "back-up-now", "", "why", ""),
        lambda: repairs.read_repair_run(cluster, user, run.id),
        lambda: repairs.cancel_repair(cluster, user, run.id),
    ):
        with pytest.raises(Forbidden):
            refused()
    token = actor_of(an_administrator(cluster, "root"), scopes=frozenset({"write"}))
    with pytest.raises(Forbidden):
        repairs.request_repair(cluster, token, "back-up-now", "", "why", "")
    with pytest.raises(NotFound):
        previews.preview_repair(cluster, chief, "../site")


def test_the_forecast_says_how_long_the_last_ones_took(cluster: Cluster, chief: Actor) -> None:
    assert previews.preview_repair(cluster, chief, "back-up-now").seconds is None
    for seconds in (4, 40, 6):
        ended(cluster, ask(cluster, chief), seconds=seconds)
    ended(cluster, ask(cluster, chief), RepairVerdict.NOT_VERIFIED, 400)
    seen = previews.preview_repair(cluster, chief, "back-up-now")
    assert (seen.seconds, seen.last_runs[0].verdict) == (40, RepairVerdict.NOT_VERIFIED)


def test_cancelling_asks_first_and_forces_then(cluster: Cluster, chief: Actor) -> None:
    run = ask(cluster, chief)
    assert repairs.cancel_repair(cluster, chief, run.id).is_forced is False
    assert repairs.cancel_repair(cluster, chief, run.id).is_forced is True
    ended(cluster, run, RepairVerdict.CANCELLED)
    with pytest.raises(Conflict):
        repairs.cancel_repair(cluster, chief, run.id)


def test_a_repair_that_has_ended_is_not_tried_again_by_its_operation(cluster: Cluster, chief: Actor) -> None:
    run = ask(cluster, chief)
    ended(cluster, run, RepairVerdict.NOT_VERIFIED)
    with pytest.raises(Conflict) as refused:
        retries.retry_operation(cluster, chief, run.operation_id or 0)
    assert refused.value.code == "repair.ask_again"


@pytest.fixture
def given_up(cluster: Cluster, chief: Actor) -> RepairRun:
    """Taken up and dropped too often."""
    run = ask(cluster, chief, "back-up-now")
    with cluster.store.write() as session:
        operation = session.get_one(Operation, run.operation_id)
        operation.state, operation.error_code = OperationState.INTERRUPTED, "repair.dropped"
    return run


@pytest.mark.parametrize(
    ("is_administrator", "scopes", "error"),
    [
        (False, None, NotFound),
        (False, frozenset({"read", "write", "repair"}), NotFound),
        (True, frozenset({"read", "write"}), Forbidden),
        (True, None, Conflict),
        (True, frozenset({"read", "write", "repair"}), Conflict),
    ],
)
def test_a_repair_that_was_given_up_is_not_begun_by_its_operation(
    cluster: Cluster,
    chief: Actor,
    given_up: RepairRun,
    is_administrator: bool,
    scopes: frozenset[str] | None,
    error: type[Exception],
) -> None:
    """Its forecast is old, and whoever asked for it may be no administrator any more."""
    actor = replace(chief, is_administrator=is_administrator, scopes=scopes)
    operation_id = given_up.operation_id or 0
    with pytest.raises(error):
        retries.retry_operation(cluster, actor, operation_id)
    with cluster.store.read() as session:
        assert session.get_one(Operation, operation_id).state is OperationState.INTERRUPTED
    assert list(entries.list_audit_entries(cluster, chief, action="operation.retried")) == []
    seen = queries.list_interrupted_operations(cluster, actor, 10)
    assert [each.id for each in seen] == ([operation_id] if is_administrator else [])
    assert count_stuck_operations(cluster) == 0 and release_stuck_operations(cluster, "1") == []


def test_one_that_was_given_up_is_closed_and_asked_for_anew(
    cluster: Cluster, chief: Actor, given_up: RepairRun
) -> None:
    with pytest.raises(Conflict, match=r"repair\.under_way"):
        ask(cluster, chief, "back-up-now")
    for refused in (replace(chief, is_administrator=False), replace(chief, scopes=frozenset({"write"}))):
        with pytest.raises(Forbidden):
            repairs.cancel_repair(cluster, refused, given_up.id)
    closed = repairs.cancel_repair(cluster, chief, given_up.id)
    assert (closed.verdict, closed.ended_at) == (RepairVerdict.BROKEN, cluster.clock())
    assert actions(cluster)[-2:] == ["repair.cancelled", "repair.ended"]
    operation = queries.read_operation(cluster, chief, given_up.operation_id or 0)
    assert (operation.state, operation.error_code) == (OperationState.FAILED, "repair.closed")
    assert ask(cluster, chief, "back-up-now").id != given_up.id


def test_only_what_the_forecast_listed_is_deleted(cluster: Cluster, chief: Actor) -> None:
    folder = cluster.settings.state_dir / "database"
    folder.mkdir(exist_ok=True)
    for number in range(4):
        (folder / f"before-0.1.0-{number}.db").write_bytes(b"x" * 10)
    first, second = (leftover.path for leftover in list_reclaimable_paths(cluster))
    run = RepairRun(
        name="free-disk-space", target="master", host="lab-a", digest="0", reason="full", requested_by=chief.user_id,
        requested_at=cluster.clock(), reclaimable_paths=[[str(first), 10], ["/etc/passwd", 1]],
    )  # fmt: skip
    add(cluster, run)
    assert [leftover.path for leftover in delete_reclaimable_of_run(cluster, run.id)] == [first]
    assert (first.exists(), second.exists()) == (False, True)


def test_a_run_under_way_is_shown_by_the_forecast(cluster: Cluster, chief: Actor) -> None:
    run = a_repair_run(cluster, an_administrator(cluster, "root"))
    seen = previews.preview_repair(cluster, chief, "back-up-now").under_way
    assert seen is not None and seen.id == run.id
