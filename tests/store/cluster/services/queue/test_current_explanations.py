"""What would be said of jobs if they were submitted now, and of a waiting one if placement is asked at that moment."""

from dataclasses import replace
from datetime import timedelta

import pytest

from cluster.domain.states import JobState
from cluster.domain.sweeps.plan import SweepRequest
from cluster.services.context import Cluster
from cluster.services.leases import acquire_lease
from cluster.services.queue import current_explanations
from cluster.services.queue.current_explanations import explain_now
from cluster.services.queue.queries import read_waiting_explanation
from cluster.services.queue.submission_preview import preview_submission, preview_sweep
from cluster.services.queue.totals import refresh_queue_totals
from cluster.store.jobs import Job
from tests.builders import a_job, holding
from tests.queue_reports import report_queue
from tests.store.job_setup import Lab, a_lab


@pytest.fixture
def lab(cluster: Cluster) -> Lab:
    """Both units are held by a run that ends in ten minutes."""
    lab = a_lab(cluster)
    running = a_job(cluster, lab.training, state=JobState.RUNNING, units=2, time_limit_seconds=600)
    holding(cluster, running, lab.node.units)
    return lab


def a_line(cluster: Cluster, lab: Lab, count: int) -> list[Job]:
    return [a_job(cluster, lab.training, units=2, time_limit_seconds=60) for _ in range(count)]


def test_all_jobs_ahead_are_counted_and_the_start_behind_them_is_told(cluster: Cluster, lab: Lab) -> None:
    line = a_line(cluster, lab, 5)
    found = preview_submission(cluster, lab.actor, lab.training.id, lab.request).explanation
    assert found is not None
    assert (found.code, found.ahead, found.data["job_id"]) == ("waiting.ahead_in_queue", 5, line[0].id)
    assert found.starts_at == cluster.clock() + timedelta(seconds=600 + 5 * 60)
    first = preview_submission(
        cluster, lab.actor, lab.training.id, replace(lab.request, priority=1)
    ).explanation
    assert first is not None and (first.code, first.ahead) == ("waiting.quota_used", 0)


def test_each_job_of_a_sweep_has_a_start(cluster: Cluster, lab: Lab) -> None:
    job = replace(lab.request, variables={}, time_limit_seconds=60)
    found = preview_sweep(cluster, lab.actor, lab.training.id, SweepRequest(job, {"seed": ("1", "2", "3")}))
    starts = [one.explanation.starts_at for one in found.jobs if one.explanation]
    first = cluster.clock() + timedelta(seconds=600)
    assert starts == [first, first, first + timedelta(seconds=60)]
    limited = SweepRequest(job, {"seed": ("1", "2", "3")}, most_at_once=1)
    told = [one.explanation for one in preview_sweep(cluster, lab.actor, lab.training.id, limited).jobs]
    assert [one.code if one else None for one in told] == ["waiting.quota_used", *["waiting.sweep_limit"] * 2]


def test_a_start_that_takes_too_long_to_forecast_is_said_as_it_was_written(
    cluster: Cluster, lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = a_line(cluster, lab, 3)[-1]
    report_queue(cluster)
    written = read_waiting_explanation(cluster, job)
    assert written.starts_at is not None
    monkeypatch.setattr(current_explanations, "FORECAST_CPU_SECONDS", 0.0)
    with cluster.store.read() as session:
        assert explain_now(cluster, session, session.get_one(Job, job.id))[1] == written
    held = acquire_lease(cluster, "totals", "a test", timedelta(hours=1))
    assert held is not None
    refresh_queue_totals(cluster, held)
    request = replace(lab.request, time_limit_seconds=60)
    found = preview_submission(cluster, lab.actor, lab.training.id, request).explanation
    assert found is not None and (found.ahead, found.starts_at) == (3, None)
    assert found.earliest_at and found.latest_at and found.earliest_at < found.latest_at
