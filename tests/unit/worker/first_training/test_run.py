"""The first training waits for its environment, runs, and is reported with its measurements."""

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from cluster.domain.states import DatasetState, EnvironmentState, JobState, UnitKind
from cluster.services.context import Cluster
from cluster.services.first_training import read_first_training, record_first_training
from cluster.services.images.environments import ensure_default_environment
from cluster.services.jobs.queries import read_job
from cluster.services.people.users import service_actor
from cluster.services.storage.folders import attempt_folder
from cluster.services.workspaces import queries
from cluster.store.datasets import Dataset
from cluster.store.environments import Environment
from cluster.store.jobs import Job
from cluster.store.workspaces import Workspace
from tests.builders import a_job, a_node, a_training, a_workspace, holding
from worker.first_training import run
from worker.first_training.measurements import TrainingMeasurements
from worker.first_training.run import (
    describe_job_state,
    ensure_first_job,
    ensure_first_workspace,
    ensure_sample_dataset,
    report_result,
    run_first_training,
)


@pytest.fixture(autouse=True)
def english(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LC_ALL", "C.UTF-8")
    monkeypatch.setattr(run, "POLL_SECONDS", 0.01)
    monkeypatch.setattr(run, "NODE_TIMEOUT", 0.05)


def write_metrics(out: Path, *points: dict[str, Any]) -> None:
    out.mkdir(parents=True, exist_ok=True)
    (out / "metrics.jsonl").write_text("".join(json.dumps(point) + "\n" for point in points))


def point(step: int, epoch: float, **scalars: float) -> dict[str, Any]:
    names = {"accuracy": "accuracy/validation", "speed": "images_per_second", "epochs": "epochs"}
    return {"step": step, "epoch": epoch, "time": 0.0, "scalars": {names[k]: v for k, v in scalars.items()}}


def a_landed_job(cluster: Cluster, accuracy: float) -> tuple[Workspace, Job]:
    workspace = ensure_first_workspace(cluster, service_actor(cluster))
    assert workspace is not None
    now = cluster.clock()
    training = a_training(cluster, workspace)
    times = {"started_at": now - timedelta(seconds=30), "ended_at": now}
    job = a_job(cluster, training, state=JobState.FINISHED, end_code="exit.finished", **times)
    out = attempt_folder(cluster.settings, workspace.id, job.id, 1) / "out"
    write_metrics(out, point(0, 0, epochs=3), point(9, 3, accuracy=accuracy, speed=900.0))
    return workspace, job


def test_a_running_training_is_told_by_its_last_epoch(monkeypatch: pytest.MonkeyPatch) -> None:
    measured = TrainingMeasurements(epoch=2, epochs=3, accuracy=0.9996)
    job = Job(state=JobState.RUNNING)
    assert describe_job_state(job, measured) == "epoch 2 of 3, validation accuracy 99.9 %"
    monkeypatch.setenv("LC_ALL", "ko_KR.UTF-8")
    assert describe_job_state(job, measured) == "에포크 2/3, 검증 정확도 99.9 %"


def with_attempt(cluster: Cluster, job: Job) -> Job:
    holding(cluster, job, a_node(cluster, units=2).units)
    return read_job(cluster, service_actor(cluster), job.id)


@pytest.mark.parametrize("is_ready", [True, False])
def test_gpus_without_an_environment_for_them_are_no_fault_of_the_machine(
    light_cluster: Cluster, is_ready: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    """Refused where the environment is there already; else it has waited, and is stopped with the reason."""
    cluster, pilot = light_cluster, service_actor(light_cluster)
    a_node(cluster, units=2, kind=UnitKind.GPU)
    workspace = ensure_first_workspace(cluster, pilot)
    assert workspace is not None
    dataset = ensure_sample_dataset(cluster, pilot, workspace)
    environment = ensure_default_environment(cluster, pilot, "digest", "/nowhere")
    if not is_ready:
        job = ensure_first_job(cluster, pilot, workspace, dataset)
    with cluster.store.write() as session:
        row = session.get_one(Environment, environment.id)
        row.state, row.contents = EnvironmentState.READY, [["tensorflow-cpu", "2.18.1", ""]]
        session.get_one(Dataset, dataset.id).state = DatasetState.READY
        if not is_ready:
            session.get_one(Job, job.id).waiting_code = "waiting.no_gpu_environment"
            session.get_one(Job, job.id).waiting_data = {"name": "default", "image": None}
    assert run_first_training(cluster) == 0
    assert "computes on CPUs only" in capsys.readouterr().out
    if not is_ready:
        assert read_job(cluster, pilot, job.id).state is JobState.STOPPED


def test_a_first_training_that_has_finished_is_not_run_again(
    light_cluster: Cluster, capsys: pytest.CaptureFixture[str]
) -> None:
    record_first_training(light_cluster, 1)
    assert run_first_training(light_cluster) == 0
    assert capsys.readouterr().out == ""


def test_the_first_training_has_a_workspace_and_a_job_of_its_own_and_asks_for_them_once(
    light_cluster: Cluster,
) -> None:
    a_node(light_cluster, units=2)
    pilot = service_actor(light_cluster)
    made = []
    for _ in range(2):
        workspace = ensure_first_workspace(light_cluster, pilot)
        assert workspace is not None
        dataset = ensure_sample_dataset(light_cluster, pilot, workspace)
        made.append((workspace.id, dataset.id, ensure_first_job(light_cluster, pilot, workspace, dataset).id))
    assert made[0] == made[1]
    assert (workspace.name, workspace.units, workspace.manager.name) == ("first-training", 2, "groundcrew")


def test_on_a_machine_with_one_unit_it_flies_on_one(light_cluster: Cluster) -> None:
    a_node(light_cluster, units=1)
    workspace = ensure_first_workspace(light_cluster, service_actor(light_cluster))
    assert workspace is not None and workspace.units == 1


def test_where_every_unit_is_promised_it_does_not_fly_and_says_why(
    light_cluster: Cluster, capsys: pytest.CaptureFixture[str]
) -> None:
    a_node(light_cluster, units=2)
    a_workspace(light_cluster, units=2)
    assert run_first_training(light_cluster) == 0
    assert "Every unit is held by a workspace" in capsys.readouterr().out


def test_landed_it_says_the_numbers_and_frees_its_units(
    light_cluster: Cluster, capsys: pytest.CaptureFixture[str]
) -> None:
    a_node(light_cluster, units=2)
    workspace, job = a_landed_job(light_cluster, 0.981)
    assert (
        report_result(
            light_cluster, service_actor(light_cluster), workspace, with_attempt(light_cluster, job)
        )
        == 0
    )
    said = capsys.readouterr().out
    assert "Finished: validation accuracy 98.1 % in 30 s, 900 images/s." in said
    assert f"/jobs/{job.id}" in said and "first-training has ended, so its 2 CPU slots are free" in said
    assert read_first_training(light_cluster) == job.id
    ended = queries.read_workspace(light_cluster, service_actor(light_cluster), workspace.id)
    assert ended.ended_at is not None


def test_a_machine_that_does_not_learn_has_not_landed(
    light_cluster: Cluster, capsys: pytest.CaptureFixture[str]
) -> None:
    a_node(light_cluster, units=2)
    workspace, job = a_landed_job(light_cluster, 0.62)
    assert (
        report_result(
            light_cluster, service_actor(light_cluster), workspace, with_attempt(light_cluster, job)
        )
        == 1
    )
    assert "less than 95 %" in capsys.readouterr().err
    assert read_first_training(light_cluster) is None


def test_a_failed_job_is_said_with_its_reason_and_its_page(
    light_cluster: Cluster, capsys: pytest.CaptureFixture[str]
) -> None:
    a_node(light_cluster, units=2)
    pilot = service_actor(light_cluster)
    workspace = ensure_first_workspace(light_cluster, pilot)
    assert workspace is not None
    training = a_training(light_cluster, workspace)
    job = a_job(
        light_cluster, training, state=JobState.FAILED, end_code="exit.command_not_found", end_data={}
    )
    assert report_result(light_cluster, pilot, workspace, with_attempt(light_cluster, job)) == 1
    said = capsys.readouterr().err
    assert "The first training failed" in said and f"/jobs/{job.id}" in said
