"""A sweep with everything real: limited, and stopped by the first crash or the first loss that is no number."""

import pytest
from sqlalchemy import select

from cluster.domain.jobs.submission import JobRequest
from cluster.domain.states import ENDED_JOB_STATES, JobState
from cluster.domain.sweeps.plan import SweepRequest
from cluster.services.storage import folders, staged_code
from cluster.services.sweeps import queries, submission
from cluster.store.jobs import Job, Sweep
from cluster.store.trainings import Training
from tests.builders import actor_of
from tests.integration.worker.executors.conftest import until
from tests.integration.worker.scheduling.conftest import Field, nothing_lives

PROGRAM = """
import sys, time
import groundcrew_job
mode = groundcrew_job.variables()["mode"]
assert sys.argv[1:] == ["--mode", mode], sys.argv
groundcrew_job.log(1, loss=0.5)
if mode == "nan":
    groundcrew_job.log(2, loss=float("nan"))
if mode == "crash":
    sys.exit(3)
if mode != "quick":
    time.sleep(600)
"""


def submit(field: Field, modes: str, **changes: object) -> Sweep:
    with field.cluster.store.write() as session:
        session.get_one(Training, field.training.id).code_version = 1
    workspace_id = field.training.workspace_id
    folder = folders.code_folder(field.cluster.settings, workspace_id, field.training.id, 1)
    staged_code.write_code(field.cluster.settings, folder, [("train.py", PROGRAM.encode())], workspace_id)
    request = SweepRequest(JobRequest("modes", 1, command=("train.py",)), {"mode": modes}, **changes)  # type: ignore[arg-type]
    return submission.submit_sweep(field.cluster, actor_of(field.person), field.training.id, request)


def jobs_of(field: Field, sweep: Sweep) -> list[Job]:
    with field.cluster.store.read() as session:
        query = select(Job).where(Job.sweep_id == sweep.id).order_by(Job.sweep_number)
        return list(session.scalars(query))


def all_ended(field: Field, sweep: Sweep) -> bool:
    return all(job.state in ENDED_JOB_STATES for job in jobs_of(field, sweep))


@pytest.mark.parametrize(
    ("trouble", "cause", "end"),
    [("nan", "sweep.nan", JobState.STOPPED), ("crash", "sweep.crash", JobState.FAILED)],
)
def test_trouble_stops_what_runs_and_what_waits(
    field_: Field, trouble: str, cause: str, end: JobState
) -> None:
    field_.start_scheduler()
    sweep = submit(field_, f"calm, {trouble}, later, last", stop_on_trouble=True)
    until(lambda: all_ended(field_, sweep), 60, "the sweep has ended")
    found = queries.read_sweep(field_.cluster, actor_of(field_.person), sweep.id)
    calm, troubled, later, last = jobs_of(field_, sweep)
    assert (found.stop_code, found.stop_data) == (cause, {"job_id": troubled.id})
    assert [calm.state, troubled.state, last.state] == [JobState.STOPPED, end, JobState.STOPPED]
    assert last.end_code == "exit.stopped_with_sweep"
    assert troubled.results == {"loss/train": [0.5, 0.5, 0.5]}
    assert later.state is JobState.STOPPED
    until(lambda: nothing_lives(field_))


def test_one_at_a_time_means_one(field_: Field) -> None:
    field_.start_scheduler()
    sweep = submit(field_, '"quick"', most_at_once=1)
    other = submit(field_, "calm, quick", most_at_once=1)
    until(lambda: all_ended(field_, sweep), 60, "the short one has ended")
    first, second = jobs_of(field_, other)
    field_.wait_for(first, JobState.RUNNING, seconds=60)
    assert field_.read(second).state is JobState.WAITING
    until(lambda: field_.read(second).waiting_code == "waiting.sweep_limit", 30)
