"""Ends for no fault of the job: it waits again, and its next attempt has a new fence and a new folder."""

import json
import os
import signal

import pytest

from cluster.domain.states import JobState
from tests.integration.worker.executors.conftest import until
from tests.integration.worker.scheduling.conftest import Field, nothing_lives
from tests.integration.worker.scheduling.test_loop import COUNTS, let_go
from worker.adapters.job_runtime import install_runtime
from worker.scheduling.loop import interrupt_all


def run_again(field: Field, job: object) -> None:
    field.start_scheduler()
    until(lambda: field.log(job, attempt=2), what="output of the second attempt")  # type: ignore[arg-type]
    let_go(field, (job, 2))
    assert field.wait_for_end(job).state is JobState.FINISHED  # type: ignore[arg-type]


def test_after_a_reboot_the_job_starts_anew(field_: Field) -> None:
    scheduler = field_.start_scheduler()
    job = field_.submit(COUNTS)
    field_.wait_for(job, JobState.RUNNING)
    until(lambda: field_.log(job))
    field_.kill(scheduler)
    (run,) = field_.executor.list_running()
    os.kill(run.handle["pid"], signal.SIGKILL)
    until(lambda: field_.executor.end_leftovers(run.folder) == 0)
    started = run.folder / "control" / "started"
    started.write_text(json.dumps({**json.loads(started.read_text()), "boot_id": "before the reboot"}))
    run_again(field_, job)
    assert field_.attempts(job)[0].end_code == "interrupted.node_rebooted"


def test_runs_that_were_stopped_while_the_services_were_down_start_anew(field_: Field) -> None:
    """As `make down` does it: the shims are asked, nobody is there to record it."""
    scheduler = field_.start_scheduler()
    job = field_.submit(COUNTS)
    field_.wait_for(job, JobState.RUNNING)
    until(lambda: field_.log(job))
    field_.kill(scheduler)
    for run in field_.executor.list_running():
        field_.executor.stop(run.handle)
    until(lambda: not field_.executor.list_running())
    run_again(field_, job)
    assert field_.attempts(job)[0].end_code == "interrupted.services_stopped"


@pytest.mark.parametrize(
    "crash",
    ["", "queue.dispatch.place_waiting_jobs committed:1", "jobs.attempts.record_starting committed:1"],
)
def test_everything_can_be_put_back_into_the_queue(field_: Field, crash: str) -> None:
    scheduler = field_.start_scheduler(**({"GC_CRASH": crash} if crash else {}))
    job = field_.submit(COUNTS)
    if crash:
        scheduler.wait(60)
    else:
        until(lambda: field_.log(job))
        field_.wait_for(job, JobState.RUNNING)
        field_.kill(scheduler)
    runtime = install_runtime(field_.cluster.settings.runtime_dir)
    assert interrupt_all(field_.cluster, field_.executor, runtime) == 0
    assert nothing_lives(field_)
    waiting = field_.read(job)
    assert (waiting.state, waiting.waiting_code) == (JobState.WAITING, "waiting.interrupted")
    run_again(field_, job)
