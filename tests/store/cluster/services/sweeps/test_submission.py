"""Sweeps in the store: all jobs in one transaction, limited, stopped together."""

import threading
import time
from datetime import timedelta

import pytest
from sqlalchemy import func, select

from cluster.domain.errors import NotFound, Refused
from cluster.domain.jobs.submission import JobRequest
from cluster.domain.states import DatasetState, JobState, Launcher, TrainingKind, Visibility
from cluster.domain.sweeps.plan import MAX_SWEEP_JOBS, SweepKind, SweepRequest
from cluster.services.context import Cluster
from cluster.services.jobs import submission as jobs
from cluster.services.queue.submission_preview import preview_sweep
from cluster.services.sweeps import submission as sweeps
from cluster.store.audit import AuditEntry
from cluster.store.jobs import Job, JobEvent, Sweep, first_position
from cluster.store.users import User
from tests.builders import a_dataset, a_job, a_training, actor_of
from tests.conftest import RecordingBell
from tests.store.sweep_setup import Lab


@pytest.fixture
def lab(cluster: Cluster) -> Lab:
    return Lab(cluster)


def test_a_grid_becomes_one_job_per_pair_in_one_entry(lab: Lab, bell: RecordingBell) -> None:
    lone = jobs.submit_job(lab.cluster, actor_of(lab.member), lab.training.id, lab.request().job)
    sweep = lab.submit({"learning_rate": "0.1, 1e-5", "epochs": "2, 3"})
    made = lab.jobs(sweep)
    assert (sweep.jobs, sweep.name, len(made)) == (4, "lenet", 4)
    assert [job.name for job in made][:2] == [
        "lenet-learning_rate=0.1-epochs=2",
        "lenet-learning_rate=0.1-epochs=3",
    ]
    assert [(job.variables["learning_rate"], job.variables["epochs"]) for job in made] == [
        (0.1, 2),
        (0.1, 3),
        (1e-05, 2),
        (1e-05, 3),
    ]
    assert made[0].variables["batch_size"] == 32
    assert made[0].command == []
    for job in made:
        assert (job.state, job.units, job.dataset_id, job.user_id) == (
            JobState.WAITING,
            1,
            lab.dataset.id,
            lab.member.id,
        )
        assert job.position == first_position(job.id, 0)
        assert job.shape.endswith(f":{sweep.id}")
        assert (job.fence, job.retries, job.grace_seconds, job.desired.value) == (0, 0, 30, "run")
        assert job.submitted_at == lab.cluster.clock()
        assert lab.codes(job) == ["job.submitted"]
    with lab.cluster.store.read() as session:
        (entry,) = session.scalars(select(AuditEntry).where(AuditEntry.object_kind == "sweep"))
    assert (entry.action, entry.object_id, entry.data) == (
        "sweep.submitted",
        sweep.id,
        {"name": "lenet", "jobs": 4},
    )
    later = jobs.submit_job(lab.cluster, actor_of(lab.member), lab.training.id, lab.request().job)
    assert lone.id < made[0].id < made[-1].id < later.id
    assert ("queue", 0) in bell.rung


def test_own_code_reads_its_values_from_the_command(lab: Lab) -> None:
    own = a_training(lab.cluster, lab.workspace, lab.member, kind=TrainingKind.ADVANCED, code_version=3)
    job = JobRequest("own", 1, command=("train.py", "--lr={lr}", '한글 "quoted"'), priority=5)
    request = SweepRequest(job, {"lr": "0.1, 0.01", "n": "7, 8"}, SweepKind.LIST)
    made = lab.jobs(sweeps.submit_sweep(lab.cluster, actor_of(lab.member), own.id, request))
    assert [job.command for job in made] == [
        ["train.py", "--lr=0.1", '한글 "quoted"', "--n", "7"],
        ["train.py", "--lr=0.01", '한글 "quoted"', "--n", "8"],
    ]
    assert [job.variables for job in made] == [{"lr": "0.1", "n": "7"}, {"lr": "0.01", "n": "8"}]
    assert (made[0].code_version, made[0].dataset_id, made[0].launcher) == (3, None, Launcher.PLAIN)
    assert made[0].position == first_position(made[0].id, 5)


def test_a_refused_sweep_makes_nothing(lab: Lab) -> None:
    for values in ({"epochs": "1, 0"}, {"seed": "0..9999", "epochs": "1, 2"}, {"nonsense": "1"}):
        with pytest.raises(Refused):
            lab.submit(values)
    with pytest.raises(Refused):
        sweeps.submit_sweep(
            lab.cluster,
            actor_of(lab.member),
            lab.training.id,
            SweepRequest(
                JobRequest("lenet", 99, Launcher.HOROVOD, dataset_id=lab.dataset.id), {"seed": "1, 2"}
            ),
        )
    private = a_training(lab.cluster, lab.workspace, lab.manager, visibility=Visibility.PRIVATE)
    with pytest.raises(NotFound):
        sweeps.submit_sweep(lab.cluster, actor_of(lab.member), private.id, lab.request())
    with lab.cluster.store.read() as session:
        assert session.scalar(select(func.count(Job.id))) == session.scalar(select(func.count(Sweep.id))) == 0


def test_the_same_key_gets_the_same_sweep(lab: Lab) -> None:
    actor = actor_of(lab.member)
    first, again = (
        sweeps.submit_sweep(lab.cluster, actor, lab.training.id, lab.request(), ("key", "hash")) for _ in "ab"
    )
    assert first.id == again.id
    assert len(lab.jobs(first)) == 3
    with pytest.raises(Refused):
        sweeps.submit_sweep(lab.cluster, actor, lab.training.id, lab.request(), ("key", "other"))


def test_a_preview_says_how_many_and_how_long_and_makes_nothing(lab: Lab) -> None:
    actor = actor_of(lab.member)
    request = lab.request({"seed": "1..6"})
    found = preview_sweep(lab.cluster, actor, lab.training.id, request)
    assert (found.plan.size, found.unit_hours, found.first.starts_now) == (6, None, True)
    assert found.names[0] == "lenet-seed=1"
    now = lab.cluster.clock()
    a_job(
        lab.cluster,
        lab.training,
        state=JobState.FINISHED,
        started_at=now - timedelta(hours=2),
        ended_at=now - timedelta(hours=1, minutes=30),
    )
    found = preview_sweep(lab.cluster, actor, lab.training.id, request)
    assert (found.seconds, found.unit_hours, found.is_limit) == (1800, 3.0, False)
    with lab.cluster.store.read() as session:
        assert session.scalar(select(func.count(Sweep.id))) == 0


def test_ten_thousand_jobs_are_one_short_transaction(lab: Lab) -> None:
    """The time limit is generous: how long it takes on a quiet machine is measured elsewhere."""
    waited: list[float] = []
    done = threading.Event()

    def write_now_and_then() -> None:
        while not done.is_set():
            begun = time.monotonic()
            with lab.cluster.store.write() as session:
                session.get_one(User, lab.other.id).full_name = str(begun)
            waited.append(time.monotonic() - begun)
            done.wait(0.01)

    writer = threading.Thread(target=write_now_and_then)
    writer.start()
    begun = time.monotonic()
    try:
        sweep = lab.submit({"seed": "0..99", "batch_size": "1..100"})
    finally:
        done.set()
        writer.join()
    assert time.monotonic() - begun < 30
    with lab.cluster.store.read() as session:
        assert session.scalar(select(func.count(Job.id)).where(Job.sweep_id == sweep.id)) == MAX_SWEEP_JOBS
        assert session.scalar(select(func.count(JobEvent.id))) == MAX_SWEEP_JOBS
    print(
        f"10,000 jobs in {time.monotonic() - begun:.2f} s; another writer waited {max(waited):.2f} s at most"
    )


def test_a_dataset_that_failed_meanwhile_is_refused(lab: Lab) -> None:
    a_dataset(lab.cluster, lab.workspace, state=DatasetState.FAILED)
    with lab.cluster.store.write() as session:
        session.get_one(type(lab.dataset), lab.dataset.id).state = DatasetState.FAILED
    with pytest.raises(Refused) as refused:
        lab.submit()
    assert refused.value.field == "dataset"
