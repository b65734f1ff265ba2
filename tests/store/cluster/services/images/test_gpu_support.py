"""A GPU job without an environment for GPUs is refused where it is asked for, waits with that reason, never begins."""

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from sqlalchemy import select

from cluster.domain.errors import Refused
from cluster.domain.executors import ExecutorKind
from cluster.domain.images import DefaultImage
from cluster.domain.jobs.gpu_support import EnvironmentOrImage, GpuSupport
from cluster.domain.jobs.submission import JobRequest
from cluster.domain.states import EnvironmentState, JobState, TrainingKind, UnitKind
from cluster.domain.sweeps.plan import SweepRequest
from cluster.services.context import Cluster
from cluster.services.images.default_images import record_images
from cluster.services.images.gpu_support import (
    job_environment_of,
    job_environment_of_images,
    read_job_environment,
    read_no_gpu_reason,
)
from cluster.services.jobs import queries
from cluster.services.jobs import submission as jobs
from cluster.services.leases import HeldLease, acquire_lease
from cluster.services.queue import submission_preview
from cluster.services.queue.dispatch import place_waiting_jobs
from cluster.services.sweeps import submission as sweeps
from cluster.store.environments import Environment
from cluster.store.jobs import Attempt, Job
from cluster.store.nodes import Unit
from tests.builders import a_training
from tests.store.conftest import LASTS
from tests.store.job_setup import Lab, a_lab
from worker.executors.contract import NotStarted
from worker.scheduling.starts.start_plan_builder import build_start_plan
from worker.scheduling.starts.start_rows import read_start_rows

CPU = [["python", "3.11", ""], ["tensorflow-cpu", "2.18.1", ""]]
CUDA = [["tensorflow", "2.18.1", ""], ["nvidia-cudnn-cu12", "9.1", ""]]
IMAGE = DefaultImage(
    "groundcrew-default", "cpu", "cpu-1", "sha256:" + "5" * 64, 1, "debian-12", datetime(2026, 11, 20, tzinfo=UTC), ()
)  # fmt: skip


@pytest.fixture
def lab(cluster: Cluster) -> Lab:
    """With units that are GPUs."""
    lab = a_lab(cluster)
    make_units(cluster, UnitKind.GPU)
    holds(cluster, CPU)
    return lab


@pytest.fixture
def held(cluster: Cluster, lab: Lab) -> HeldLease:
    held = acquire_lease(cluster, "scheduler", "one", LASTS)
    assert held
    return held


def make_units(cluster: Cluster, kind: UnitKind, *, simulated: bool = False) -> None:
    with cluster.store.write() as session:
        for unit in session.scalars(select(Unit)):
            unit.kind, unit.simulated = kind, simulated


def holds(cluster: Cluster, contents: list[list[str]]) -> None:
    with cluster.store.write() as session:
        session.scalars(select(Environment)).one().contents = contents


def by(cluster: Cluster, executor: str, **settings: str) -> Cluster:
    return replace(cluster, settings=replace(cluster.settings, executor=ExecutorKind(executor), **settings))


def test_it_is_refused_wherever_it_is_asked_for(cluster: Cluster, lab: Lab) -> None:
    own = a_training(cluster, lab.workspace, kind=TrainingKind.ADVANCED)
    script = JobRequest(name="own", units=1, command=("train.py",))
    sweep = SweepRequest(lab.request, {"batch_size": "32, 64"})
    for ask in (
        lambda: submission_preview.preview_submission(cluster, lab.actor, lab.training.id, lab.request),
        lambda: jobs.submit_job(cluster, lab.actor, lab.training.id, lab.request),
        lambda: jobs.submit_job(cluster, lab.actor, own.id, script),
        lambda: submission_preview.preview_sweep(cluster, lab.actor, lab.training.id, sweep),
        lambda: sweeps.submit_sweep(cluster, lab.actor, lab.training.id, sweep),
    ):
        with pytest.raises(Refused) as refusal:
            ask()
        assert (refusal.value.field, refusal.value.code) == ("units", "job.no_gpu_environment")
    with cluster.store.read() as session:
        assert session.scalars(select(Job)).all() == []


def test_units_that_are_no_gpus_need_none(cluster: Cluster, lab: Lab) -> None:
    make_units(cluster, UnitKind.CPU_SLOT)
    jobs.submit_job(cluster, lab.actor, lab.training.id, lab.request)
    make_units(cluster, UnitKind.GPU, simulated=True)
    jobs.submit_job(cluster, lab.actor, lab.training.id, lab.request)
    make_units(cluster, UnitKind.GPU)
    jobs.submit_job(by(cluster, "simulated"), lab.actor, lab.training.id, lab.request)
    holds(cluster, CUDA)
    assert jobs.submit_job(cluster, lab.actor, lab.training.id, lab.request).state is JobState.WAITING


def test_a_job_that_was_queued_before_waits_with_that_reason(
    cluster: Cluster, lab: Lab, held: HeldLease
) -> None:
    holds(cluster, CUDA)
    job = jobs.submit_job(cluster, lab.actor, lab.training.id, lab.request)
    holds(cluster, CPU)
    assert place_waiting_jobs(cluster, held) == []
    waiting = queries.read_job(cluster, lab.actor, job.id)
    assert (waiting.state, waiting.waiting_code) == (JobState.WAITING, "waiting.no_gpu_environment")
    assert waiting.waiting_data == {"name": "default"}
    holds(cluster, CUDA)
    assert len(place_waiting_jobs(cluster, held)) == 1


def test_what_was_placed_before_does_not_begin(cluster: Cluster, lab: Lab, held: HeldLease) -> None:
    holds(cluster, CUDA)
    jobs.submit_job(cluster, lab.actor, lab.training.id, lab.request)
    place_waiting_jobs(cluster, held)
    with cluster.store.read() as session:
        attempt = session.scalars(select(Attempt.id)).one()
    build_start_plan(cluster, Path("/runtime"), attempt)
    holds(cluster, CPU)
    with pytest.raises(NotStarted) as refusal:
        build_start_plan(cluster, Path("/runtime"), attempt, loaded=read_start_rows(cluster, [attempt]))
    assert refusal.value.code == "start.no_gpu_environment"


def test_on_kubernetes_the_images_decide(cluster: Cluster, lab: Lab) -> None:
    kubernetes = by(cluster, "kubernetes")
    cuda = replace(IMAGE, variant="cuda", tag="cuda-1", digest="sha256:" + "6" * 64)

    def code_of(of: Cluster) -> str | None:
        try:
            warnings = submission_preview.preview_submission(
                of, lab.actor, lab.training.id, lab.request
            ).warnings
        except Refused as refusal:
            assert refusal.data["image"] == refusal.data["name"]
            return refusal.code
        return warnings[0].code if warnings else None

    assert code_of(kubernetes) is None, "there is no image yet: the start says so"
    record_images(cluster, [IMAGE], "master:5443")
    assert code_of(kubernetes) == "job.no_gpu_environment"
    assert (
        code_of(by(cluster, "kubernetes", kubernetes_image="site.example/own@sha256:1")) == "job.gpus_assumed"
    )
    recorded = replace(IMAGE, registry="master:5443").reference
    assert code_of(by(cluster, "kubernetes", kubernetes_image=recorded)) == "job.no_gpu_environment"
    record_images(cluster, [IMAGE, cuda], "master:5443")
    assert code_of(kubernetes) is None


def test_in_docker_an_own_program_may_come_with_the_image(cluster: Cluster, lab: Lab) -> None:
    docker = by(cluster, "docker", docker_image="site:1")
    own = a_training(cluster, lab.workspace, kind=TrainingKind.ADVANCED)
    request = JobRequest(name="own", units=1, command=("/opt/conda/bin/python", "train.py"))
    (warned,) = submission_preview.preview_submission(docker, lab.actor, own.id, request).warnings
    assert (warned.code, warned.data["image"]) == ("job.gpus_by_image", "site:1")
    with pytest.raises(Refused, match=r"job\.no_gpu_environment"):
        jobs.submit_job(docker, lab.actor, lab.training.id, lab.request)


NOTHING = EnvironmentOrImage("", GpuSupport.UNKNOWN)


@pytest.mark.parametrize(
    ("executor", "state", "contents", "expected"),
    [
        ("process", EnvironmentState.READY, CPU, EnvironmentOrImage("default", GpuSupport.NO)),
        ("process", EnvironmentState.READY, CUDA, EnvironmentOrImage("default", GpuSupport.YES)),
        ("process", EnvironmentState.READY, [], NOTHING),
        ("process", EnvironmentState.BUILDING, CPU, NOTHING),
        ("docker", EnvironmentState.READY, CPU,
         EnvironmentOrImage("default", GpuSupport.NO, container_image="site:1")),
        ("kubernetes", EnvironmentState.READY, CPU, NOTHING),
    ],
)  # fmt: skip
def test_the_environment_speaks_once_it_is_ready(
    cluster: Cluster,
    executor: str,
    state: EnvironmentState,
    contents: list[list[str]],
    expected: EnvironmentOrImage,
) -> None:
    settings = by(cluster, executor, docker_image="site:1").settings
    environment = Environment(name="default", digest="d", state=state, contents=contents)
    with cluster.store.read() as session:
        assert job_environment_of(settings, session, environment) == expected
        assert job_environment_of(settings, session, None) == NOTHING


@pytest.mark.parametrize(
    ("variants", "named", "support"),
    [
        ((), "", GpuSupport.UNKNOWN),
        (("cpu",), "", GpuSupport.NO),
        (("cpu", "cuda"), "", GpuSupport.YES),
        (("cpu", "cuda"), "site.example/own:1", GpuSupport.UNKNOWN),
        (("cpu", "cuda"), "groundcrew-default:cpu-1", GpuSupport.NO),
    ],
)
def test_the_image_that_the_site_named_counts_before_the_built_ones(
    cluster: Cluster, variants: tuple[str, ...], named: str, support: GpuSupport
) -> None:
    record_images(cluster, [replace(IMAGE, variant=each, tag=f"{each}-1") for each in variants], "")
    settings = by(cluster, "kubernetes", kubernetes_image=named).settings
    with cluster.store.read() as session:
        assert job_environment_of_images(settings, session).support is support


def test_nothing_is_said_where_no_unit_is_a_real_gpu(cluster: Cluster, lab: Lab) -> None:
    def reads(of: Cluster) -> tuple[str, bool]:
        with cluster.store.read() as session:
            environment = session.scalars(select(Environment)).one()
            has_reason = read_no_gpu_reason(of, session, environment) is not None
            return read_job_environment(of, session, environment).name, has_reason

    assert reads(cluster) == ("default", True)
    assert reads(by(cluster, "simulated")) == ("", False)
    holds(cluster, CUDA)
    assert reads(cluster) == ("", False)
    holds(cluster, CPU)
    make_units(cluster, UnitKind.GPU, simulated=True)
    assert reads(cluster) == ("", False)
