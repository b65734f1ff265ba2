"""A lab with people in a browser each, a dataset, trainings, and a job that wrote files."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from functools import cache
from pathlib import Path

import pytest
from flask import Flask
from flask.testing import FlaskClient

from cluster.domain.states import JobState, TrainingKind, UserRole, Visibility
from cluster.services.context import Cluster
from cluster.services.images import environments
from cluster.services.operations import lifecycle
from cluster.services.people import sessions
from cluster.store.datasets import Dataset
from cluster.store.jobs import Attempt, Job, JobEvent
from cluster.store.nodes import Allocation, Node, Unit
from cluster.store.trainings import Training
from cluster.store.users import User
from cluster.store.workspaces import Workspace
from portal import create_app
from portal.shared_objects import share_object
from tests.builders import (
    a_dataset,
    a_job,
    a_node,
    a_training,
    a_user,
    a_workspace,
    actor_of,
    add,
    an_administrator,
    holding,
)
from tests.conftest import sqlite_cluster
from tests.pages.portal.frozen_rows import FrozenRows, freeze_rows


@dataclass
class Lab:
    """`browser(user)` is signed in; `seoyeon` owns the trainings, `minjun` is a member, `stranger` is not."""

    cluster: Cluster
    app: Flask
    administrator: User
    manager: User
    seoyeon: User
    minjun: User
    stranger: User
    workspace: Workspace
    node: Node
    dataset: Dataset
    lenet: Training
    own_code: Training
    private: Training
    browsers: dict[int, FlaskClient] = field(default_factory=dict)

    def browser(self, user: User, language: str = "en") -> FlaskClient:
        client = self.app.test_client()
        token = sessions.begin_session(self.cluster, user.id, "192.0.2.1", "a test")
        client.set_cookie(f"gc_session_{self.cluster.settings.port}", token)
        client.set_cookie("gc_language", language)
        return client

    def out(self, job: Job, attempt: int = 1) -> Path:
        """The folder that the program of the job writes to."""
        root = self.cluster.settings.storage_dir / "workspaces" / str(job.workspace_id)
        folder = root / "jobs" / str(job.id) / str(attempt) / "out"
        folder.mkdir(parents=True, exist_ok=True)
        (folder.parent / "control").mkdir(exist_ok=True)
        return folder

    def a_running_job(self, training: Training | None = None, units: int = 1, **columns: object) -> Job:
        """On the first units of the node, with the folder that it writes to."""
        now = self.cluster.clock()
        job = a_job(
            self.cluster,
            training or self.lenet,
            state=JobState.RUNNING,
            units=units,
            dataset_id=self.dataset.id,
            submitted_at=now - timedelta(minutes=10),
            dispatched_at=now - timedelta(minutes=8),
            started_at=now - timedelta(minutes=7),
            **columns,
        )
        holding(self.cluster, job, self.free_units()[:units])
        add(self.cluster, JobEvent(job_id=job.id, at=job.submitted_at, state="waiting", code="job.submitted"))
        data = {"node": self.node.name, "units": units, "kind": "cpu_slot"}
        started = job.started_at or now
        add(self.cluster, JobEvent(job_id=job.id, at=started, state="running", code="job.placed", data=data))
        self.out(job)
        return job

    def free_units(self) -> list[Unit]:
        with self.cluster.store.read() as session:
            held = session.query(Allocation.unit_id).filter(Allocation.ended_at.is_(None))
            taken = {row[0] for row in held}
        return [unit for unit in self.node.units if unit.id not in taken]

    def ended(self, job: Job, code: str, state: JobState = JobState.FAILED, **data: object) -> None:
        now = self.cluster.clock()
        with self.cluster.store.write() as session:
            row = session.get_one(Job, job.id)
            row.state, row.ended_at, row.end_code, row.end_data = state, now, code, data
            for attempt in session.query(Attempt).filter_by(job_id=job.id):
                attempt.ended_at, attempt.end_code, attempt.end_data = now, code, data
                for held in attempt.allocations:
                    held.ended_at = now


@pytest.fixture(scope="session")
def one_portal(tmp_path_factory: pytest.TempPathFactory, migrated_file: Path) -> Iterator[Flask]:
    """Its templates are compiled once; each test puts its own cluster behind it."""
    with sqlite_cluster(tmp_path_factory.mktemp("portal"), migrated_file) as cluster:
        yield create_app(cluster, testing=True)


@dataclass
class LabRows:
    administrator: User
    manager: User
    seoyeon: User
    minjun: User
    stranger: User
    workspace: Workspace
    node: Node
    dataset: Dataset
    lenet: Training
    own_code: Training
    private: Training


def make_rows(cluster: Cluster) -> LabRows:
    administrator, manager = an_administrator(cluster, "hjkim"), a_user(cluster, "jisoo")
    seoyeon, minjun, stranger = (a_user(cluster, name) for name in ("seoyeon", "minjun", "stranger"))
    workspace = a_workspace(cluster, manager, members=(seoyeon, minjun), name="vision", units=2)
    environment = environments.ensure_default_environment(cluster, actor_of(administrator), "digest", "/x")
    operation = lifecycle.claim_operation(cluster, environment.operation_id or 0, "a worker")
    assert operation is not None
    environments.finish_build(cluster, operation.id, operation.fence, [])
    assert seoyeon.role is UserRole.USER
    return LabRows(
        administrator,
        manager,
        seoyeon,
        minjun,
        stranger,
        workspace,
        a_node(cluster, 2, name="cpu01"),
        a_dataset(cluster, workspace, name="digits"),
        a_training(cluster, workspace, seoyeon, name="digits-lenet"),
        a_training(cluster, workspace, seoyeon, name="own-code", kind=TrainingKind.ADVANCED, code_version=1),
        a_training(cluster, workspace, seoyeon, name="private-idea", visibility=Visibility.PRIVATE),
    )


@cache
def frozen_rows(migrated_file: Path) -> FrozenRows[LabRows]:
    return freeze_rows(migrated_file, make_rows)


@pytest.fixture
def lab(light_cluster: Cluster, one_portal: Flask, migrated_file: Path) -> Iterator[Lab]:
    share_object(one_portal, Cluster, light_cluster)
    yield Lab(light_cluster, one_portal, **vars(frozen_rows(migrated_file).put_into(light_cluster)))


def metric_row(step: int, epoch: float, time: float, **scalars: float) -> str:
    """`loss__train=0.5` is the metric `loss/train`."""
    named = {name.replace("__", "/"): value for name, value in scalars.items()}
    return json.dumps({"step": step, "epoch": epoch, "time": time, "scalars": named}) + "\n"
