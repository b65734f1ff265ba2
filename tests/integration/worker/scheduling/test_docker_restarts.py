"""The container engine is restarted under running jobs: with live-restore they go on, without they are resumed."""

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from cluster.domain.states import JobState
from cluster.store.jobs import Job
from tests.containers.image import ensure_image, image_or_skip
from tests.containers.second_engine import SecondEngine, second_engine
from tests.integration.worker.executors.conftest import until
from tests.integration.worker.scheduling.conftest import Field

BRIDGE_OF_THE_FIRST = Path("/sys/class/net/docker0")

WAITS = """
import os, signal, sys, time
print("attempt", os.environ["GROUNDCREW_ATTEMPT"], flush=True)
while not os.path.exists(os.environ["GROUNDCREW_OUT"] + "/go"):
    time.sleep(0.02)
print("done", flush=True)
sys.exit(int(sys.argv[1]))
"""


@pytest.fixture(params=[True, False], ids=["live-restore", "no-live-restore"])
def engine(request: pytest.FixtureRequest) -> Iterator[SecondEngine]:
    image_or_skip()
    with second_engine(live_restore=request.param) as engine:
        assert BRIDGE_OF_THE_FIRST.exists(), "the second engine has deleted the bridge of the machine's"
        yield engine


def start_scheduler(field: Field, engine: SecondEngine) -> None:
    field.start_scheduler(
        GROUNDCREW_EXECUTOR="docker",
        GROUNDCREW_DOCKER_IMAGE=ensure_image(engine.socket),
        GROUNDCREW_DOCKER_SOCKET=str(engine.socket),
    )


def submit(field: Field, exit_code: int = 0) -> Job:
    return field.submit(WAITS, command=["train.py", str(exit_code)])


def wait_until_it_speaks(field: Field, job: Job, attempt: int) -> None:
    said = f"attempt {attempt}\n".encode()
    until(lambda: field.log(job, attempt) == said, 40, f"the first words of attempt {attempt}")


def wait_until_nobody_answers(field: Field) -> None:
    """The scheduler has asked in vain."""
    log = field.cluster.settings.state_dir / "scheduler.log"
    until(lambda: "does not answer" in log.read_text(), 90, "the scheduler's complaint")


@pytest.mark.parametrize("engine", [True], ids=["live-restore"], indirect=True)
def test_with_live_restore_an_engine_s_restart_changes_nothing(field_: Field, engine: SecondEngine) -> None:
    start_scheduler(field_, engine)
    stays, ends = submit(field_), submit(field_, exit_code=3)
    for job in (stays, ends):
        wait_until_it_speaks(field_, job, 1)
    before = until(lambda: field_.attempts(stays)[0].handle)
    engine.stop()
    (field_.out(ends) / "go").touch()
    until(lambda: b"done" in field_.log(ends))
    wait_until_nobody_answers(field_)
    assert {field_.read(job).state for job in (stays, ends)} == {JobState.RUNNING}
    engine.start()
    ended = field_.wait_for_end(ends)
    assert (ended.state, ended.end_code, ended.exit_code) == (JobState.FAILED, "exit.other", 3)
    assert field_.read(stays).state is JobState.RUNNING
    (field_.out(stays) / "go").touch()
    assert field_.wait_for_end(stays).state is JobState.FINISHED
    (attempt,) = field_.attempts(stays)
    assert attempt.handle == before
    assert field_.log(stays) == b"attempt 1\ndone\n"


@pytest.mark.parametrize("engine", [False], ids=["no-live-restore"], indirect=True)
@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL], ids=["stopped", "killed"])
def test_without_it_the_job_is_resumed_as_a_new_attempt(
    field_: Field, engine: SecondEngine, how: signal.Signals
) -> None:
    start_scheduler(field_, engine)
    job = submit(field_)
    wait_until_it_speaks(field_, job, 1)
    engine.stop(how)
    engine.start()
    wait_until_it_speaks(field_, job, 2)
    (field_.out(job, 2) / "go").touch()
    assert field_.wait_for_end(job).state is JobState.FINISHED
    first, second = field_.attempts(job)
    assert first.end_code == "interrupted.engine_stopped"
    assert second.end_code == "exit.finished"
    assert field_.log(job, 2) == b"attempt 2\ndone\n"
