"""Jobs in containers under a scheduler that is killed: each runs once, is found again, and its end is told."""

import signal
from collections.abc import Iterator
from dataclasses import replace

import pytest

from cluster.domain.states import JobState
from cluster.store.jobs import Job
from tests.containers.engine import SOCKET
from tests.containers.image import image_or_skip
from tests.integration.worker.executors.conftest import until
from tests.integration.worker.scheduling.conftest import Field
from worker.adapters.docker_engine import DockerEngine
from worker.executors.docker import DockerExecutor

WAITS = """
import os, sys, time
print("attempt", os.environ["GROUNDCREW_ATTEMPT"], flush=True)
while not os.path.exists(os.environ["GROUNDCREW_OUT"] + "/go"):
    time.sleep(0.02)
print("done", flush=True)
sys.exit(5)
"""


@pytest.fixture
def field(field_: Field) -> Iterator[Field]:
    """With the docker executor."""
    image_or_skip()
    engine = DockerEngine(str(SOCKET))
    executor = DockerExecutor(engine, field_.cluster.settings.storage_dir)
    yield replace(field_, executor=executor)  # type: ignore[arg-type]
    for scheduler in field_.schedulers:
        field_.kill(scheduler)
    for run in executor.list_running():
        executor.kill(run.handle)
    until(lambda: not executor.list_running())
    executor.remove_ended_except(())
    engine.close()


def start_scheduler(field: Field, **variables: str):
    return field.start_scheduler(
        GROUNDCREW_EXECUTOR="docker", GROUNDCREW_DOCKER_IMAGE=image_or_skip(), **variables
    )


def wait_until_it_speaks(field: Field, job: Job) -> None:
    until(lambda: field.log(job) == b"attempt 1\n", 90, "the program's first words")


def test_a_start_that_nobody_recorded_is_found_with_its_end(field: Field) -> None:
    """The scheduler dies right after the start, and the program ends before there is another one."""
    job = field.submit(WAITS)
    assert start_scheduler(field, GC_CRASH="executor.start answered").wait(90) == -signal.SIGKILL
    wait_until_it_speaks(field, job)
    assert [run.job for run in field.executor.list_running()] == [job.id]
    (field.out(job) / "go").touch()
    until(lambda: field.executor.list_running() == [], 90)
    start_scheduler(field)
    ended = field.wait_for_end(job, 40)
    assert (ended.state, ended.end_code, ended.exit_code) == (JobState.FAILED, "exit.other", 5)
    assert len(field.attempts(job)) == 1
    assert field.log(job) == b"attempt 1\ndone\n"
    executor = field.executor
    assert isinstance(executor, DockerExecutor)
    label = f"groundcrew.installation={executor.installation}"
    until(lambda: executor.engine.list_containers(label) == [], 90, "its container's removal")


def test_a_stop_ends_the_container_within_ten_seconds(field: Field) -> None:
    job = field.submit(WAITS)
    start_scheduler(field)
    wait_until_it_speaks(field, job)
    field.wait_for(job, JobState.RUNNING)
    field.stop(job)
    assert field.wait_for_end(job, 10).state is JobState.STOPPED
    assert field.executor.list_running() == []
