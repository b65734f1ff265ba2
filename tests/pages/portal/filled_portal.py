"""A house with one of everything and one person of every kind, frozen: each test begins from the same rows."""

import shutil
from dataclasses import dataclass
from pathlib import Path

from flask import Flask
from flask.testing import FlaskClient

from cluster.domain.people.actor import Actor
from cluster.domain.states import (
    DatasetState,
    JobKind,
    JobState,
    OperationKind,
    OperationState,
    TaskQueue,
    TrainingKind,
    Visibility,
)
from cluster.services.context import Cluster
from cluster.services.jobs import saved_views
from cluster.services.people import api_tokens, passwords, sessions, ssh_keys
from cluster.services.storage import folders
from cluster.store.datasets import Dataset
from cluster.store.jobs import Notebook, Sweep
from cluster.store.operations import Operation
from cluster.store.users import User
from cluster.store.workspaces import Workspace
from portal import create_app
from tests.builders import (
    a_code_version,
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
    an_environment,
    holding,
)

PASSWORD = "quiet apron 42"
SSH_KEY = Path("tests/data/ssh_keys/ecdsa.pub")
WHEEL = "lower-1.5-py3-none-any.whl"
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
        """All rows as they were, the files that a visitor may delete, and no uploads; no connection is kept between
        requests.
        """
        shutil.rmtree(self.cluster.settings.storage_dir / "incoming", ignore_errors=True)
        (self.cluster.settings.state_dir / "log" / "access" / "20261119.log").write_text('{"id": 1}\n')
        wheels = self.cluster.settings.storage_dir / "wheels"
        wheels.mkdir(exist_ok=True)
        (wheels / WHEEL).write_bytes(b"PK")
        for rest in ("-wal", "-shm"):
            self.file.with_name(self.file.name + rest).unlink(missing_ok=True)
        shutil.copy(self.snapshot, self.file)


def build(cluster: Cluster, file: Path) -> House:
    """Private training and private job, so that a member who is not named is the one who may not see them."""
    people = make_people(cluster)
    owner, chief = people["owner"], actor_of(people["administrator"])
    passwords.use_password_link(cluster, passwords.issue_password_link(cluster, chief, owner.id), PASSWORD)
    workspace = a_workspace(cluster, people["manager"], (owner, people["member"]), 2, name="vision-lab")
    dataset = a_dataset(cluster, workspace, "digits", bytes=1_420_000, files=1797)
    with cluster.store.write() as rows:
        rows.get_one(Dataset, dataset.id).created_by = owner.id
    images = folders.dataset_folder(cluster.settings, dataset) / "zero"
    images.mkdir(parents=True)
    (images / "0001.png").write_bytes(b"\x89PNG\r\n\x1a\n\0")
    ids = {"workspace_id": workspace.id, "dataset_id": dataset.id, "user_id": people["stranger"].id}
    ids["environment_id"] = an_environment(cluster, "torch-2.7", [workspace]).id
    ids |= make_trainings(cluster, workspace, owner)
    ids |= make_operations(cluster, workspace, people)
    made, _ = api_tokens.create_api_token(cluster, actor_of(owner), "laptop", ["read"], 30)
    cookies = {
        kind: sessions.begin_session(cluster, user.id, "127.0.0.1", "Firefox/140")
        for kind, user in people.items()
    }
    session = sessions.find_session(cluster, sessions.begin_session(cluster, owner.id, "", "other"))
    assert session is not None
    ids["view_id"] = saved_views.save_view(cluster, actor_of(owner), "mine", "state=running").id
    key = ssh_keys.add_ssh_key(cluster, actor_of(owner), "laptop", SSH_KEY.read_text())
    ids |= {"token_id": made.id, "session_id": session.id, "key_id": key.id}
    bearer = {
        kind: api_tokens.create_api_token(cluster, actor_of(user), "bearer", ["repair"], 30)[1]
        for kind, user in people.items()
    }
    link = passwords.issue_password_link(cluster, chief, people["member"].id)
    snapshot = freeze(cluster, file)
    app, strict = create_app(cluster, testing=True), create_app(cluster)
    return House(cluster, app, strict, people, cookies, bearer, ids, link, file, snapshot)


def make_people(cluster: Cluster) -> dict[str, User]:
    return {
        "administrator": an_administrator(cluster, "root-of-all"),
        "manager": a_user(cluster, "jisoo"),
        "owner": a_user(cluster, "seoyeon", full_name="이서연"),
        "member": a_user(cluster, "minjun"),
        "stranger": a_user(cluster, "taeho"),
    }


def make_trainings(cluster: Cluster, workspace: Workspace, owner: User) -> dict[str, int]:
    """One that everybody in the workspace sees, and the owner's own with a running notebook and a sweep."""
    node = a_node(cluster, 4, name="lab-a")
    public = a_training(cluster, workspace, owner, "lenet")
    private = a_training(cluster, workspace, owner, "idea", TrainingKind.ADVANCED, Visibility.PRIVATE)
    a_code_version(cluster, private, [("train.py", b"print(1)\n")])
    now = cluster.clock()
    job = a_job(cluster, private, owner, 1, JobState.RUNNING, started_at=now, fence=1, kind=JobKind.NOTEBOOK)
    add(cluster, Notebook(job_id=job.id, token="a-token", ready_attempt=1, used_at=now))
    holding(cluster, job, [node.units[0]])
    out = folders.attempt_folder(cluster.settings, workspace.id, job.id, 1) / "out"
    (out / "checkpoints").mkdir(parents=True)
    (out / "rank-0.stdout").write_text("hello\n")
    (out / "checkpoints" / "epoch-0001.weights.h5").write_bytes(b"weights")
    sweep = Sweep(
        workspace_id=workspace.id,
        training_id=private.id,
        user_id=owner.id,
        name="idea",
        plan={"kind": "grid", "values": {"lr": ["0.1"]}, "order": ["lr"]},
        jobs=1,
        submitted_at=now,
    )
    add(cluster, sweep)
    a_job(cluster, private, owner, sweep_id=sweep.id, sweep_number=1, variables={"lr": "0.1"})
    return {
        "node_id": node.id,
        "training_id": private.id,
        "public_training_id": public.id,
        "job_id": job.id,
        "sweep_id": sweep.id,
    }


def make_operations(cluster: Cluster, workspace: Workspace, people: dict[str, User]) -> dict[str, int]:
    """One of the owner's that failed, with its log; a repair; and a file of the access log."""
    failed = a_dataset(
        cluster, workspace, "broken", state=DatasetState.FAILED, error_code="dataset.interrupted"
    )
    now = cluster.clock()
    operation = Operation(
        kind=OperationKind.DATASET_IMPORT,
        queue=TaskQueue.GENERAL,
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
    (log / "access").mkdir(parents=True)
    (log / "access" / "20261119.log").write_text('{"id": 1}\n')
    (log / f"operation-{operation.id}.log").write_text("first line\nthe disk is full\n")
    return {"operation_id": operation.id, "run_id": run.id}


def freeze(cluster: Cluster, file: Path) -> Path:
    """A copy of the database as it is now."""
    snapshot = file.with_suffix(".snapshot")
    with cluster.store.read() as rows:
        rows.connection().exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)")
    shutil.copy(file, snapshot)
    return snapshot
