"""A job that the platform interrupts as soon as it begins is tried again after growing pauses, then given up."""

from datetime import timedelta

from sqlalchemy import update

from cluster.domain.queue.retry_backoff import MAX_INTERRUPTIONS_IN_A_ROW
from cluster.domain.states import JobState
from cluster.services.context import Cluster
from cluster.services.jobs import attempts
from cluster.services.leases import HeldLease
from cluster.services.nodes import heartbeats
from cluster.services.queue import queries as queue
from cluster.services.queue.dispatch import place_waiting_jobs
from cluster.services.queue.holds_and_moves import hold_job, release_job
from cluster.services.queue.queries import QueueFilters
from cluster.store.jobs import Job
from cluster.store.nodes import Node
from tests.builders import a_job, a_node, a_training, a_workspace, actor_of, an_administrator
from tests.conftest import Clock
from tests.queue_reports import report_queue
from tests.store.conftest import job_of

CAUSE = "interrupted.node_rebooted"


def a_row(cluster: Cluster, held: HeldLease, clock: Clock, times: int, lasts: float = 1) -> int:
    """So many attempts that do not last, each begun as soon as it may; how many seconds were waited."""
    waited = 0
    for _ in range(times):
        while not (placed := place_waiting_jobs(cluster, held)):
            waited += 1
            clock.move(seconds=1 if times < 5 else 300)
            with cluster.store.write() as session:
                session.execute(update(Node).values(heartbeat_at=clock.now))
        attempts.record_running(cluster, held, {placed[0]: {"pid": 7}})
        clock.move(seconds=lasts)
        assert attempts.record_interruption(cluster, held, placed[0], CAUSE, {})
    return waited


def waits(cluster: Cluster) -> Job:
    a_node(cluster, units=1, name="alpha")
    return a_job(cluster, a_training(cluster, a_workspace(cluster)))


def test_the_first_time_it_is_tried_again_at_once(cluster: Cluster, held: HeldLease, clock: Clock) -> None:
    job = waits(cluster)
    a_row(cluster, held, clock, 1)
    assert job_of(cluster, job).waiting_code == "waiting.interrupted"
    assert len(place_waiting_jobs(cluster, held)) == 1


def test_then_it_waits_longer_each_time_and_says_until_when(
    cluster: Cluster, held: HeldLease, clock: Clock
) -> None:
    job = waits(cluster)
    assert a_row(cluster, held, clock, 4) == 1 + 2
    assert place_waiting_jobs(cluster, held) == []
    row = job_of(cluster, job)
    assert (row.waiting_code, row.state) == ("waiting.tried_later", JobState.WAITING)
    data = row.waiting_data or {}
    assert (data["cause"], data["node"], data["attempt"], data["in_a_row"]) == (CAUSE, "alpha", 4, 4)
    assert data["until"] == (clock.now + timedelta(seconds=4)).isoformat()
    report_queue(cluster)
    view = queue.read_queue(cluster, actor_of(an_administrator(cluster)), QueueFilters())
    assert [(each.code, each.count) for each in view.reasons] == [("waiting.tried_later", 1)]
    clock.move(seconds=4)
    report_queue(cluster)
    over = queue.read_queue(cluster, actor_of(an_administrator(cluster)), QueueFilters())
    assert "waiting.tried_later" not in [each.code for each in over.reasons]
    assert len(place_waiting_jobs(cluster, held)) == 1


def test_a_pause_keeps_nobody_else_waiting(cluster: Cluster, held: HeldLease, clock: Clock) -> None:
    waits(cluster)
    a_row(cluster, held, clock, 3)
    other = a_job(cluster, a_training(cluster, a_workspace(cluster)))
    assert len(place_waiting_jobs(cluster, held)) == 1
    assert job_of(cluster, other).state is JobState.STARTING


def test_an_attempt_that_lasts_ends_the_row(cluster: Cluster, held: HeldLease, clock: Clock) -> None:
    job = waits(cluster)
    a_row(cluster, held, clock, 3)
    a_row(cluster, held, clock, 1, lasts=90)
    assert job_of(cluster, job).waiting_code == "waiting.interrupted"


def test_at_last_it_has_failed_with_the_cause(cluster: Cluster, held: HeldLease, clock: Clock) -> None:
    job = waits(cluster)
    a_row(cluster, held, clock, MAX_INTERRUPTIONS_IN_A_ROW)
    row = job_of(cluster, job)
    assert (row.state, row.end_code, row.fence) == (
        JobState.FAILED,
        "exit.interrupted_each_time",
        MAX_INTERRUPTIONS_IN_A_ROW,
    )
    data = row.end_data or {}
    assert (data["cause"], data["node"], data["in_a_row"]) == (CAUSE, "alpha", MAX_INTERRUPTIONS_IN_A_ROW)
    assert place_waiting_jobs(cluster, held) == []


def test_who_holds_it_and_lets_it_go_tries_it_at_once(
    cluster: Cluster, held: HeldLease, clock: Clock
) -> None:
    job = waits(cluster)
    a_row(cluster, held, clock, 5)
    assert place_waiting_jobs(cluster, held) == []
    manager = actor_of(an_administrator(cluster))
    hold_job(cluster, manager, job.id)
    release_job(cluster, manager, job.id)
    assert len(place_waiting_jobs(cluster, held)) == 1


def test_a_boot_seen_by_a_clock_that_was_ahead_is_not_newer_than_what_begins_now(
    cluster: Cluster, clock: Clock
) -> None:
    for boot_id in ("first", "second"):
        heartbeats.record_heartbeat(cluster, "alpha", boot_id, {}, [])
    clock.move(minutes=-4)
    node_id = heartbeats.record_heartbeat(cluster, "alpha", "second", {}, []).id
    with cluster.store.read() as session:
        assert session.get_one(Node, node_id).booted_at == clock.now
