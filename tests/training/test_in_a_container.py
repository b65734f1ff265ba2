"""A real training on two Horovod ranks in a container of the engine, from the row to its checkpoints."""

import json

import pytest

from cluster.domain.built_in_models import BUILT_IN_MODELS, check_variables
from cluster.domain.states import JobState, Launcher
from cluster.store.datasets import Dataset
from cluster.store.trainings import Training
from tests.builders import a_job, a_training
from tests.containers.engine import SOCKET
from tests.containers.image import image_or_skip
from tests.integration.conftest import cluster, ground, redis_url, settings
from tests.integration.worker.executors.conftest import until
from tests.integration.worker.scheduling.conftest import Field, field_
from tests.training.test_whole_way import field, sample
from worker.adapters.docker_engine import DockerEngine
from worker.executors.docker import DockerExecutor

__all__ = ["cluster", "field", "field_", "ground", "redis_url", "sample", "settings"]


@pytest.fixture
def containers(field: Field) -> DockerExecutor:
    """What the scheduler has; its last containers are removed."""
    image_or_skip()
    engine = DockerEngine(str(SOCKET))
    executor = DockerExecutor(engine, field.cluster.settings.storage_dir)
    yield executor
    for run in executor.list_running():
        executor.kill(run.handle)
    until(lambda: not executor.list_running())
    executor.remove_ended_except(())
    engine.close()


def test_two_ranks_train_in_a_container(field: Field, sample: Dataset, containers: DockerExecutor) -> None:
    field.start_scheduler(GROUNDCREW_EXECUTOR="docker", GROUNDCREW_DOCKER_IMAGE=image_or_skip())
    with field.cluster.store.read() as session:
        workspace = session.get_one(Training, field.training.id).workspace
    job = a_job(
        field.cluster,
        a_training(field.cluster, workspace),
        units=2,
        launcher=Launcher.HOROVOD,
        dataset_id=sample.id,
        variables=dict(check_variables(BUILT_IN_MODELS["lenet"], {"epochs": "2"})),
    )
    field.cluster.events.publish("queue", job.id)
    ended = field.wait_for_end(job, 240)
    said = (field.out(job) / "launcher.stderr").read_text()[-3000:] + str(
        field.log(job, kind="stderr")[-3000:]
    )
    assert (ended.state, ended.end_code, ended.exit_code) == (JobState.FINISHED, "exit.finished", 0), said
    (attempt,) = field.attempts(job)
    assert set(attempt.handle or {}) == {"container"}
    out = field.out(job)
    assert (out / "rank-1.stdout").exists()
    assert len(list((out / "checkpoints").glob("*.weights.h5"))) == 2
    accuracies = [
        entry["scalars"]["accuracy/validation"]
        for entry in map(json.loads, (out / "metrics.jsonl").read_text().splitlines())
        if "accuracy/validation" in entry["scalars"]
    ]
    assert accuracies[-1] > 0.3
    plan = json.loads((out.parent / "control" / "plan.json").read_text())
    assert plan["ranks"] == 2 and plan["container"] == image_or_skip()
