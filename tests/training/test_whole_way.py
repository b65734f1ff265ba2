"""The whole way of a real training: rows, task worker, scheduler, shim, two Horovod ranks, and its end."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from cluster.domain.built_in_models import BUILT_IN_MODELS, check_variables
from cluster.domain.states import DatasetState, JobState, Launcher
from cluster.services import datasets
from cluster.store.datasets import Dataset
from cluster.store.jobs import Job
from cluster.store.trainings import Training
from tests.builders import a_job, a_training, actor_of
from tests.integration.conftest import cluster, ground, redis_url, settings
from tests.integration.worker.executors.conftest import until
from tests.integration.worker.scheduling.conftest import Field, field_, nothing_lives
from tests.integration.worker.tasks.test_rq_worker import Shop

__all__ = ["cluster", "field_", "ground", "redis_url", "settings"]


@pytest.fixture
def field(field_: Field, environment: Path) -> Iterator[Field]:
    """With the real environment in place of the stand-in."""
    link = field_.cluster.settings.state_dir / "environment"
    link.rename(link.with_name("stand-in"))
    link.symlink_to(environment)
    shop = Shop(field_.cluster)
    shop.start()
    yield field_
    for worker in shop.workers:
        worker.terminate()
        worker.wait(10)


@pytest.fixture
def sample(field: Field) -> Dataset:
    actor = actor_of(field.person)
    asked = datasets.create_sample(field.cluster, actor, field.training.workspace_id)
    until(
        lambda: datasets.read_dataset(field.cluster, actor, asked.id).state is not DatasetState.PREPARING, 60
    )
    ready = datasets.read_dataset(field.cluster, actor, asked.id)
    assert (ready.state, ready.error_code) == (DatasetState.READY, None)
    return ready


def test_two_ranks_from_the_row_to_the_end_and_a_stop_in_the_middle(field: Field, sample: Dataset) -> None:
    assert sample.files == 1798 and sample.classes and len(sample.classes) == 10
    field.start_scheduler()
    with field.cluster.store.read() as session:
        workspace = session.get_one(Training, field.training.id).workspace
    training = a_training(field.cluster, workspace)

    def submit(epochs: str) -> Job:
        job = a_job(
            field.cluster,
            training,
            units=2,
            launcher=Launcher.HOROVOD,
            dataset_id=sample.id,
            variables=dict(check_variables(BUILT_IN_MODELS["lenet"], {"epochs": epochs})),
        )
        field.cluster.events.publish("queue", job.id)
        return job

    job = submit("1")
    ended = field.wait_for_end(job, 240)
    assert (ended.state, ended.exit_code) == (JobState.FINISHED, 0), field.log(job, kind="stderr")[-3000:]
    assert ended.cpu_seconds and ended.cpu_seconds > 1
    assert ended.max_memory_bytes and ended.max_memory_bytes > 100_000_000
    assert (field.out(job) / "metrics.jsonl").exists()
    assert (field.out(job) / "rank-1.stdout").exists()
    assert "left_behind" not in str(field.events(job))
    long = submit("100")
    until(lambda: (field.out(long) / "metrics.jsonl").exists(), 120)
    began = time.monotonic()
    field.stop(long)
    assert field.wait_for_end(long).state is JobState.STOPPED
    assert time.monotonic() - began < 10
    assert nothing_lives(field)
