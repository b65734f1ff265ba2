"""What one decision and one job's life ask of the database, however many jobs wait."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from sqlalchemy import event, select

from cluster.domain.states import JobState
from cluster.services.context import Cluster
from cluster.services.jobs import attempts
from cluster.services.leases import HeldLease
from cluster.services.placement import queue_heads
from cluster.services.queue.dispatch import place_waiting_jobs
from cluster.store.jobs import Job, JobEvent
from tests.bench.bulk_rows import a_line_of_workspaces, fill
from tests.builders import a_job, a_node, a_training, a_workspace, an_administrator
from tests.store.conftest import FINISHED, job_of


@contextmanager
def counted(cluster: Cluster) -> Iterator[list[str]]:
    """The statements that reach the database meanwhile, without the beginnings of transactions."""
    statements: list[str] = []

    def note(*given: object) -> None:
        if not (statement := str(given[2])).startswith(("BEGIN", "SELECT pg_advisory")):
            statements.append(statement)

    event.listen(cluster.store.engine, "before_cursor_execute", note)
    try:
        yield statements
    finally:
        event.remove(cluster.store.engine, "before_cursor_execute", note)


@pytest.mark.parametrize("depth", [200, 2_000])
def test_a_decision_reads_as_much_whatever_the_length_of_the_queue(
    cluster: Cluster, held: HeldLease, depth: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One unit has come free in one of twenty full workspaces; its line has `depth` / 20 jobs."""
    a_node(cluster, units=20)
    lines = a_line_of_workspaces(cluster, an_administrator(cluster), 20)
    fill(cluster, lines, depth, units=1)
    running = place_waiting_jobs(cluster, held)
    attempts.record_end(cluster, held, attempts.AttemptEnd(running[7], FINISHED))
    rows: list[int] = []
    real: Callable[..., list[queue_heads.QueuedJobRow]] = queue_heads.fetch_rows

    def read(*given: object, **named: object) -> list[queue_heads.QueuedJobRow]:
        found = real(*given, **named)
        rows.append(len(found))
        return found

    monkeypatch.setattr(queue_heads, "fetch_rows", read)
    with counted(cluster) as statements:
        assert len(place_waiting_jobs(cluster, held, is_rung=True, has_freed=True)) == 1
    assert sum(rows) == 2, "the job that starts and the one behind it"
    assert len(statements) <= 17, statements


def test_a_pass_that_an_event_caused_leaves_reasons_to_the_next_look(
    cluster: Cluster, held: HeldLease
) -> None:
    a_node(cluster, units=1)
    training = a_training(cluster, a_workspace(cluster, units=1))
    first, second = (a_job(cluster, training) for _ in range(2))
    assert len(place_waiting_jobs(cluster, held, is_rung=True, has_freed=True)) == 1
    assert (job_of(cluster, first).state, job_of(cluster, second).waiting_code) == (JobState.STARTING, None)
    assert place_waiting_jobs(cluster, held) == []
    assert job_of(cluster, second).waiting_code == "waiting.quota_used"


@pytest.mark.parametrize("together", [1, 4])
def test_jobs_that_start_and_end_together_cost_the_statements_of_one(
    cluster: Cluster, held: HeldLease, together: int
) -> None:
    a_node(cluster, units=4)
    training = a_training(cluster, a_workspace(cluster, units=4))
    for _ in range(together):
        a_job(cluster, training)
    placed = place_waiting_jobs(cluster, held)
    assert len(placed) == together
    with counted(cluster) as intentions:
        attempts.record_starting(cluster, held, dict.fromkeys(placed))
    with counted(cluster) as starts:
        attempts.record_running(cluster, held, {attempt: {"pid": 7} for attempt in placed})
    with counted(cluster) as ends:
        attempts.record_end(cluster, held, *(attempts.AttemptEnd(attempt, FINISHED) for attempt in placed))
    assert len(intentions) == 2, intentions
    assert len(starts) == 5, starts
    assert sum(not statement.startswith("INSERT INTO job_events") for statement in ends) == 6, ends
    with cluster.store.read() as session:
        lines = session.execute(select(JobEvent.job_id, JobEvent.code).order_by(JobEvent.id)).all()
        jobs = list(session.scalars(select(Job.id)))
    for job in jobs:
        mine = [code for job_id, code in lines if job_id == job]
        assert mine == ["job.placed", "job.started", "exit.finished"]
