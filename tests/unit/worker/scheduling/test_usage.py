"""The scheduler takes in what shims say of their programs' way, and nothing that makes no sense."""

import json
from datetime import timedelta
from pathlib import Path

import pytest

from cluster.domain.jobs.headline_metric import HeadlineMetric
from cluster.domain.states import JobState
from cluster.services.context import Cluster
from cluster.services.leases import acquire_lease
from cluster.services.storage import folders
from cluster.store.jobs import Attempt, Job
from tests.builders import a_job, a_node, a_training, a_workspace, holding
from worker.inside import groundcrew_job
from worker.inside.shim_metrics import MetricResults
from worker.scheduling.usage import watch_progress


def test_a_running_job_says_when_it_ends(light_cluster: Cluster) -> None:
    cluster = light_cluster
    held = acquire_lease(cluster, "scheduler", "one", timedelta(seconds=10))
    assert held
    training, now = a_training(cluster, a_workspace(cluster)), cluster.clock()
    told, silly = (
        holding(cluster, a_job(cluster, training, state=JobState.RUNNING), [unit])
        for unit in a_node(cluster).units
    )
    marks = [[epoch, now.timestamp() - 60 * (4 - epoch)] for epoch in range(1, 5)]
    for attempt, course in ((told, {"epochs": 10, "marks": marks}), (silly, {"epochs": "∞", "marks": 7})):
        folder = (
            folders.attempt_folder(cluster.settings, training.workspace_id, attempt.job_id, 1) / "control"
        )
        folder.mkdir(parents=True)
        (folder / "usage.json").write_text(json.dumps({"course": course}))
    assert watch_progress(cluster, held) == 1
    assert watch_progress(cluster, held) == 0
    with cluster.store.read() as session:
        known, unknown = (session.get_one(Attempt, attempt.id) for attempt in (told, silly))
    assert known.progress == 0.4
    assert known.expected_end_at == now + timedelta(minutes=6)
    assert (unknown.progress, unknown.expected_end_at) == (None, None)


def test_the_headline_metric_that_a_program_logs_comes_into_its_jobs_row(
    light_cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From `groundcrew_job` over the shim's reader to the row that lists read."""
    cluster = light_cluster
    held = acquire_lease(cluster, "scheduler", "one", timedelta(seconds=10))
    assert held
    training = a_training(cluster, a_workspace(cluster))
    attempt = holding(cluster, a_job(cluster, training, state=JobState.RUNNING), a_node(cluster).units[:1])
    monkeypatch.setenv("GROUNDCREW_OUT", str(tmp_path))
    groundcrew_job.objective("error", lower_is_better=True)
    for step, error in enumerate((0.5, 0.25, 0.4)):
        groundcrew_job.log(step=step, loss=1.0, scalars={"error": error})
    results = MetricResults()
    results.read_more(str(tmp_path))
    control = folders.attempt_folder(cluster.settings, training.workspace_id, attempt.job_id, 1) / "control"
    control.mkdir(parents=True)
    usage = {"results": results.by_name, "objective": results.objective}
    (control / "usage.json").write_text(json.dumps(usage))
    assert watch_progress(cluster, held) == 1
    with cluster.store.read() as session:
        found = session.get_one(Job, attempt.job_id).headline
    assert found == HeadlineMetric("error", 0.25, is_best=True, lower_is_better=True)
    (control / "usage.json").write_text(json.dumps({"results": {"error": [1]}}))
    assert watch_progress(cluster, held) == 0


def test_a_running_job_is_named_by_the_objective_of_its_training(light_cluster: Cluster) -> None:
    cluster = light_cluster
    held = acquire_lease(cluster, "scheduler", "one", timedelta(seconds=10))
    assert held
    training = a_training(
        cluster, a_workspace(cluster), objective_metric="bleu", objective_is_lower_better=False
    )
    attempt = holding(cluster, a_job(cluster, training, state=JobState.RUNNING), a_node(cluster).units[:1])
    control = folders.attempt_folder(cluster.settings, training.workspace_id, attempt.job_id, 1) / "control"
    control.mkdir(parents=True)
    results = {"accuracy/validation": [0.1, 0.9, 0.9], "bleu": [10, 30, 20]}
    (control / "usage.json").write_text(json.dumps({"results": results}))
    assert watch_progress(cluster, held) == 1
    with cluster.store.read() as session:
        assert session.get_one(Job, attempt.job_id).headline == HeadlineMetric("bleu", 30, is_best=True)
