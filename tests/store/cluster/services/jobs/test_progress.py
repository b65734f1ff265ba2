"""The progress of running jobs tells when others start: in the sentence, the queue and before a drain."""

from datetime import datetime, timedelta

import pytest

from cluster.domain.jobs.headline_metric import HeadlineMetric
from cluster.domain.jobs.progress import ProgressEstimate
from cluster.domain.queue.start_estimate import EstimateSource
from cluster.domain.states import JobState
from cluster.services.context import Cluster
from cluster.services.jobs.progress import AttemptReport, record_reports
from cluster.services.jobs.queries import list_jobs
from cluster.services.leases import HeldLease, LeaseLost, acquire_lease
from cluster.services.nodes import drain_effects
from cluster.services.queue import queries
from cluster.store.jobs import Attempt, Job
from cluster.store.nodes import Node
from cluster.words import sentence as say
from tests.builders import a_job, a_node, a_training, a_workspace, actor_of, an_administrator, holding
from tests.conftest import Clock, RecordingBell
from tests.queue_reports import report_queue
from tests.store.conftest import LASTS


def a_full_node(cluster: Cluster, **columns: object) -> tuple[Node, Job, Attempt, Job]:
    """(node, the job on all of it, its attempt, the job that waits for it)."""
    node = a_node(cluster, 2, name="alpha")
    training = a_training(cluster, a_workspace(cluster, units=2))
    running = a_job(cluster, training, units=2, state=JobState.RUNNING, **columns)
    return node, running, holding(cluster, running, node.units), a_job(cluster, training, units=2)


def later(cluster: Cluster, clock: Clock, node: Node, minutes: int) -> None:
    """The node goes on answering."""
    clock.move(minutes=minutes)
    with cluster.store.write() as session:
        session.get_one(Node, node.id).heartbeat_at = clock.now


def told(now: datetime, minutes: int) -> ProgressEstimate:
    ends = [now + timedelta(minutes=minutes * share) for share in (1, 0.8, 1.5)]
    return ProgressEstimate(0.5, *ends)


def test_the_start_of_who_waits_follows_from_the_progress_of_who_runs(
    cluster: Cluster, held: HeldLease, clock: Clock
) -> None:
    node, running, attempt, waiting = a_full_node(cluster)
    person = actor_of(an_administrator(cluster))
    report_queue(cluster)
    assert queries.read_waiting_explanation(cluster, waiting).starts_at is None
    assert record_reports(cluster, held, {attempt.id: AttemptReport(told(clock.now, 30))}) == 1
    report_queue(cluster)
    standing = queries.read_waiting_explanation(cluster, waiting)
    assert standing.starts_at == clock.now + timedelta(minutes=30)
    assert standing.earliest_at == clock.now + timedelta(minutes=24)
    assert standing.latest_at == clock.now + timedelta(minutes=45)
    assert standing.data["source"] == EstimateSource.PROGRESS
    sentence = say(standing.code or "", standing.data, "en", cluster.settings.zone, clock.now)
    assert f"job-{running.id} ends, about 14:30" in sentence
    assert "progress of the running jobs it is between 14:24 and 14:45" in sentence
    (row,) = queries.read_queue(cluster, person).running
    assert (row.ends_at, row.share_done) == (standing.starts_at, 0.5)
    (affected,) = drain_effects.read_drain_effect(cluster, person, node.id).running
    assert affected.ends_at == standing.starts_at


def test_an_end_that_has_passed_is_none(cluster: Cluster, held: HeldLease, clock: Clock) -> None:
    node, _running, attempt, waiting = a_full_node(cluster)
    record_reports(cluster, held, {attempt.id: AttemptReport(told(clock.now, 30))})
    later(cluster, clock, node, 40)
    report_queue(cluster)
    shown = queries.read_waiting_explanation(cluster, waiting)
    assert shown.starts_at == clock.now + timedelta(minutes=5)
    later(cluster, clock, node, 10)
    shown = queries.read_waiting_explanation(cluster, waiting)
    assert (shown.starts_at, shown.code) == (None, "waiting.quota_used")
    assert "freed_by" not in shown.data
    report_queue(cluster)
    assert queries.read_waiting_explanation(cluster, waiting).starts_at is None


def test_only_news_is_written_and_only_a_moved_end_is_rung(
    cluster: Cluster, held: HeldLease, clock: Clock, bell: RecordingBell
) -> None:
    _node, _running, attempt, _waiting = a_full_node(cluster)
    first = told(clock.now, 30)
    assert record_reports(cluster, held, {attempt.id: AttemptReport(first)}) == 1
    assert bell.rung[-1] == ("queue", 0)
    bell.rung.clear()
    assert record_reports(cluster, held, {attempt.id: AttemptReport(first)}) == 0
    further = ProgressEstimate(0.55, first.ends_at, first.earliest_at, first.latest_at)
    assert record_reports(cluster, held, {attempt.id: AttemptReport(further)}) == 1
    assert not bell.rung
    assert record_reports(cluster, held, {attempt.id: AttemptReport(told(clock.now, 40))}) == 1
    assert bell.rung


def test_who_lost_the_lease_writes_nothing(cluster: Cluster, held: HeldLease, clock: Clock) -> None:
    _node, _running, attempt, _waiting = a_full_node(cluster)
    clock.move(hours=1)
    assert acquire_lease(cluster, "scheduler", "another", LASTS)
    with pytest.raises(LeaseLost):
        record_reports(cluster, held, {attempt.id: AttemptReport(told(clock.now, 30))})


def test_the_headline_metric_of_a_running_job_is_in_its_row(
    cluster: Cluster, held: HeldLease, clock: Clock
) -> None:
    _node, running, attempt, _waiting = a_full_node(cluster)
    person = actor_of(an_administrator(cluster))

    def record(value: float) -> int:
        headline = HeadlineMetric("loss/validation", value, is_best=True, lower_is_better=True)
        return record_reports(cluster, held, {attempt.id: AttemptReport(None, headline)})

    assert record(0.5) == 1
    assert record(0.50001) == 0
    assert record(0.25) == 1
    (line,) = [line for line in list_jobs(cluster, person) if line.id == running.id]
    assert line.headline == HeadlineMetric("loss/validation", 0.25, is_best=True, lower_is_better=True)
    assert line.headline_score == -0.25
