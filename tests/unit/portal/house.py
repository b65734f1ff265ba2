"""A house with one of everything and one person of every kind, frozen: each test begins from the same rows."""

import shutil
from dataclasses import dataclass
from pathlib import Path

from flask import Flask
from flask.testing import FlaskClient

from cluster.domain.people import Actor
from cluster.domain.states import (
    DatasetState,
    JobState,
    OperationKind,
    OperationState,
    Queue,
    TrainingKind,
    Visibility,
)
from cluster.services import sessions, storage, tokens, users
from cluster.services.context import Cluster
from cluster.store.datasets import Dataset
from cluster.store.jobs import Sweep
from cluster.store.operations import Operation
from cluster.store.users import User
from portal import create_app
from tests.builders import (
    a_dataset,
    a_job,
    a_node,
    a_repair_run,
    a_training,
    a_user,
    a_workspace,
    actor_of,
    add,
    an_administrator,
    holding,
)

PASSWORD = "quiet apron 42"
KINDS = ("anonymous", "stranger", "member", "owner", "manager", "administrator")
"""`owner` owns the training, the job, the dataset and the operation; `member` shares only the workspace."""


@dataclass
class House:
    cluster: Cluster
    app: Flask
    strict_app: Flask
    """The same with its CSRF check on."""
    people: dict[str, User]
    sessions: dict[str, str]
    tokens: dict[str, str]
    ids: dict[str, int]
    link: str
    file: Path
    snapshot: Path

    def visitor(self, kind: str, is_strict: bool = False) -> FlaskClient:
        """A browser in which this person is signed in."""
        client = (self.strict_app if is_strict else self.app).test_client()
        if kind != "anonymous":
            client.set_cookie(f"gc_session_{self.cluster.settings.port}", self.sessions[kind])
        return client

    def actor(self, kind: str) -> Actor:
        return actor_of(self.people[kind])

    def restore(self) -> None:
        """All rows as they were, and the one file that a visitor may delete; no connection is kept between requests."""
        (self.cluster.settings.state_dir / "log" / "access" / "20261119.log").write_text('{"id": 1}\n')
        for rest in ("-wal", "-shm"):
            self.file.with_name(self.file.name + rest).unlink(missing_ok=True)
        shutil.copy(self.snapshot, self.file)


def build(cluster: Cluster, file: Path) -> House:
    """Private training and private job, so that a member who is not named is the one who may not see them."""
    people = {
        "administrator": an_administrator(cluster, "root-of-all"),
        "manager": a_user(cluster, "jisoo"),
        "owner": a_user(cluster, "seoyeon", full_name="이서연"),
        "member": a_user(cluster, "minjun"),
        "stranger": a_user(cluster, "taeho"),
    }
    secret = users.issue_link(cluster, actor_of(people["administrator"]), people["owner"].id)
    users.use_link(cluster, secret, PASSWORD)
    workspace = a_workspace(
        cluster, people["manager"], (people["owner"], people["member"]), 2, name="vision-lab"
    )
    node = a_node(cluster, 4, name="lab-a")
    dataset = a_dataset(cluster, workspace, "digits", bytes=1_420_000, files=1797)
    with cluster.store.write() as rows:
        rows.get_one(Dataset, dataset.id).created_by = people["owner"].id
    failed = a_dataset(
        cluster, workspace, "broken", state=DatasetState.FAILED, error_code="dataset.interrupted"
    )
    public = a_training(cluster, workspace, people["owner"], "lenet")
    private = a_training(
        cluster, workspace, people["owner"], "idea", TrainingKind.ADVANCED, Visibility.PRIVATE
    )
    now = cluster.clock()
    job = a_job(cluster, private, people["owner"], 1, JobState.RUNNING, started_at=now, fence=1)
    holding(cluster, job, [node.units[0]])
    out = storage.attempt_folder(cluster.settings, workspace.id, job.id, 1) / "out"
    out.mkdir(parents=True)
    (out / "rank-0.stdout").write_text("hello\n")
    (out / "checkpoints").mkdir()
    (out / "checkpoints" / "epoch-0001.weights.h5").write_bytes(b"weights")
    sweep = Sweep(
        workspace_id=workspace.id,
        training_id=private.id,
        user_id=people["owner"].id,
        name="idea",
        plan={"kind": "grid", "values": {"lr": ["0.1"]}, "order": ["lr"]},
        jobs=1,
        submitted_at=now,
    )
    add(cluster, sweep)
    a_job(cluster, private, people["owner"], sweep_id=sweep.id, sweep_number=1, variables={"lr": "0.1"})
    operation = Operation(
        kind=OperationKind.DATASET_IMPORT,
        queue=Queue.GENERAL,
        subject_id=failed.id,
        workspace_id=workspace.id,
        state=OperationState.FAILED,
        steps=[{"code": "unpack", "state": "failed", "started_at": now.isoformat()}],
        requested_by=people["owner"].id,
        requested_at=now,
        error_code="operation.dropped",
        error_data={"times": 5},
    )
    add(cluster, operation)
    run = a_repair_run(cluster, people["administrator"])
    log = cluster.settings.state_dir / "log"
    log.mkdir()
    (log / "access").mkdir()
    (log / "access" / "20261119.log").write_text('{"id": 1}\n')
    (log / f"operation-{operation.id}.log").write_text("first line\nthe disk is full\n")
    made, _ = tokens.create_token(cluster, actor_of(people["owner"]), "laptop", ["read"], 30)
    cookies = {
        kind: sessions.begin_session(cluster, user.id, "127.0.0.1", "Firefox/140")
        for kind, user in people.items()
    }
    session = sessions.find_session(cluster, sessions.begin_session(cluster, people["owner"].id, "", "other"))
    assert session is not None
    ids = {
        "workspace_id": workspace.id,
        "node_id": node.id,
        "dataset_id": dataset.id,
        "training_id": private.id,
        "public_training_id": public.id,
        "job_id": job.id,
        "sweep_id": sweep.id,
        "operation_id": operation.id,
        "run_id": run.id,
        "user_id": people["stranger"].id,
        "token_id": made.id,
        "session_id": session.id,
    }
    bearer = {
        kind: tokens.create_token(cluster, actor_of(user), "bearer", ["repair"], 30)[1]
        for kind, user in people.items()
    }
    link = users.issue_link(cluster, actor_of(people["administrator"]), people["member"].id)
    snapshot = file.with_suffix(".snapshot")
    with cluster.store.read() as rows:
        rows.connection().exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)")
    shutil.copy(file, snapshot)
    app = create_app(cluster, testing=True)
    strict = create_app(cluster)
    return House(cluster, app, strict, people, cookies, bearer, ids, link, file, snapshot)
