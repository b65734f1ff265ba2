"""A small cluster that really runs: rows, real Redis, the real executor, and a Python as environment."""

import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from select import select as select_ready

import pytest
from sqlalchemy import select

import worker.commands.scheduler
from cluster import failpoints
from cluster.domain.states import ENDED_JOB_STATES, EnvironmentState, JobState, Launcher, TrainingKind
from cluster.logging import configure_logging
from cluster.services.context import Cluster
from cluster.services.jobs import stop_requests
from cluster.services.jobs.live_attempts import list_live_attempts
from cluster.services.storage import folders, staged_code
from cluster.settings import Settings
from cluster.store.environments import Environment
from cluster.store.facts import InstallationFact
from cluster.store.jobs import Attempt, Job, JobEvent
from cluster.store.nodes import Node
from cluster.store.trainings import Training
from cluster.store.users import User
from tests.builders import a_job, a_node, a_training, a_workspace, actor_of, add, an_administrator
from tests.crash.sweep import start_child
from tests.integration.worker.executors.conftest import until
from tests.machine.service_variables import service_variables
from worker.adapters.job_runtime import install_runtime
from worker.executors.process import ProcessExecutor


def variables_for(settings: Settings) -> dict[str, str]:
    """The environment of a service process."""
    return service_variables(settings, PATH=os.environ["PATH"])


@dataclass
class Child:
    """A forked process, as `subprocess.Popen` shows one."""

    pid: int
    returncode: int | None = None

    def poll(self) -> int | None:
        if self.returncode is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            self.returncode = os.waitstatus_to_exitcode(status) if pid else None
        return self.returncode

    def wait(self, seconds: float | None = None) -> int:
        """Raises TimeoutError."""
        if self.poll() is None:
            process = os.pidfd_open(self.pid)
            try:
                select_ready([process], [], [], seconds)
            finally:
                os.close(process)
        code = self.poll()
        if code is None:
            raise TimeoutError(f"process {self.pid} still runs after {seconds} s")
        return code

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


class Told:
    """What the rows say of a job."""

    cluster: Cluster

    def read(self, job: Job) -> Job:
        with self.cluster.store.read() as session:
            return session.get_one(Job, job.id)

    def attempts(self, job: Job) -> list[Attempt]:
        with self.cluster.store.read() as session:
            query = select(Attempt).where(Attempt.job_id == job.id).order_by(Attempt.number)
            return list(session.scalars(query))

    def events(self, job: Job) -> list[str]:
        with self.cluster.store.read() as session:
            query = select(JobEvent.code).where(JobEvent.job_id == job.id).order_by(JobEvent.id)
            return list(session.scalars(query))


@dataclass
class Field(Told):
    """Submits jobs whose program is a few lines of Python, and runs schedulers as processes."""

    cluster: Cluster
    training: Training
    person: User
    executor: ProcessExecutor
    schedulers: list[Child] = field(default_factory=list)
    variables: dict[str, str] = field(default_factory=dict)
    """More settings of its schedulers."""

    def submit(self, program: str, units: int = 1, **columns: object) -> Job:
        """The program lies in a code version of its own; its launcher is plain."""
        with self.cluster.store.write() as session:
            training = session.get_one(Training, self.training.id)
            training.code_version += 1
            version = training.code_version
        folder = folders.code_folder(
            self.cluster.settings, self.training.workspace_id, self.training.id, version
        )
        staged_code.write_code(
            self.cluster.settings, folder, [("train.py", program.encode())], self.training.workspace_id
        )
        job = a_job(
            self.cluster,
            self.training,
            units=units,
            launcher=Launcher.PLAIN,
            code_version=version,
            **{"command": ["train.py"]} | columns,
        )
        self.cluster.events.publish("queue", job.id)
        return job

    def stop(self, job: Job) -> None:
        stop_requests.stop_job(self.cluster, actor_of(self.person), job.id)

    def log(self, job: Job, attempt: int = 1, kind: str = "stdout") -> bytes:
        path = self.out(job, attempt) / f"rank-0.{kind}"
        return path.read_bytes() if path.exists() else b""

    def out(self, job: Job, attempt: int = 1) -> Path:
        folder = folders.attempt_folder(self.cluster.settings, job.workspace_id, job.id, attempt)
        return folder / "out"

    def wait_for(self, job: Job, *states: JobState, seconds: float = 60) -> Job:
        until(lambda: self.read(job).state in states, seconds, f"job {job.id} in {states}")
        return self.read(job)

    def wait_for_end(self, job: Job, seconds: float = 60) -> Job:
        return self.wait_for(job, *ENDED_JOB_STATES, seconds=seconds)

    def start_scheduler(self, **variables: str) -> Child:
        """`GC_CRASH="dispatch.place_waiting_jobs committed:1"` makes it kill itself there.

        It is forked, so that its modules are not imported again; all else it has of its own, as a service has.
        """
        settings = self.cluster.settings
        environment = variables_for(settings) | self.variables | variables

        def serve() -> None:
            signal.alarm(0)
            os.environ.clear()
            os.environ.update(environment)
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            wanted = environment.get(failpoints.VARIABLE)
            failpoints.listener = failpoints.FailpointKiller(wanted) if wanted else None
            configure_logging()
            worker.commands.scheduler.main([])

        child = Child(start_child(serve, settings.state_dir / "scheduler.log"))
        self.schedulers.append(child)
        return child

    def kill(self, scheduler: Child) -> None:
        scheduler.kill()
        scheduler.wait()

    def node_has(self, units: int, name: str = "node-a") -> None:
        a_node(self.cluster, units=units, name=name)
        with self.cluster.store.write() as session:
            for node in session.scalars(select(Node)):
                # There is no agent in these tests: one heartbeat has to last.
                node.heartbeat_at = self.cluster.clock() + timedelta(hours=1)


def as_environment(cluster: Cluster) -> None:
    """The distribution's Python stands in for a built training environment: every user may read it."""
    folder = cluster.settings.state_dir / "environment"
    (folder / "bin").mkdir(parents=True)
    (folder / "bin" / "python").symlink_to("/usr/bin/python3")
    folder.chmod(0o755)
    row = Environment(name="default", digest="d", state=EnvironmentState.READY, path=str(folder))
    row.created_at = cluster.clock()
    add(cluster, row, InstallationFact(name="default_environment", value={"digest": "d"}))


@pytest.fixture
def field_(cluster: Cluster) -> Iterator[Field]:
    with a_field(cluster) as field:
        field.node_has(units=2)
        yield field


@contextmanager
def a_field(cluster: Cluster) -> Iterator[Field]:
    """Without a node yet."""
    as_environment(cluster)
    person = an_administrator(cluster)
    workspace = a_workspace(cluster, units=8)
    folders.ensure_workspace_folder(cluster.settings, workspace.id)
    training = a_training(cluster, workspace, kind=TrainingKind.ADVANCED)
    runtime = install_runtime(cluster.settings.runtime_dir)
    executor = ProcessExecutor(runtime, cluster.settings.storage_dir)
    field = Field(cluster, training, person, executor)
    try:
        yield field
    finally:
        for scheduler in field.schedulers:
            field.kill(scheduler)
        for run in executor.list_running():
            executor.kill(run.handle)


def stops_well(scheduler: Child) -> bool:
    scheduler.send_signal(signal.SIGTERM)
    return scheduler.wait(30) == 0


def nothing_lives(field: Field) -> bool:
    return list_live_attempts(field.cluster) == [] and field.executor.list_running() == []


def moment() -> float:
    return time.monotonic()
