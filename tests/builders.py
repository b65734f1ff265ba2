"""Rows for tests, written straight into the store: `a_user(cluster, "minji")`, `a_node(cluster, units=2)`."""

import hashlib
import itertools
from collections.abc import Sequence
from datetime import date, timedelta
from typing import Any

from sqlalchemy import BigInteger, ColumnElement, cast, literal

from cluster.domain.people.actor import Actor
from cluster.domain.states import (
    AttemptState,
    CodeSource,
    CodeState,
    DatasetKind,
    DatasetState,
    EnvironmentSource,
    EnvironmentState,
    JobState,
    Launcher,
    TrainingKind,
    UnitKind,
    UnitState,
    UserRole,
    UserState,
    Visibility,
)
from cluster.services.context import Cluster
from cluster.services.storage import folders, staged_code
from cluster.store.base import BaseRow
from cluster.store.datasets import Dataset
from cluster.store.environments import Environment
from cluster.store.jobs import POSITION_STEP, PRIORITY_STEP, Attempt, Job, first_position
from cluster.store.nodes import Allocation, Node, Unit
from cluster.store.repairs import RepairLock, RepairRun
from cluster.store.trainings import CodeVersion, Training
from cluster.store.users import User
from cluster.store.workspaces import Workspace

numbers = itertools.count(1)


def add(cluster: Cluster, *rows: BaseRow) -> None:
    with cluster.store.write() as session:
        session.add_all(rows)


def actor_of(user: User, address: str = "192.0.2.10", scopes: frozenset[str] | None = None) -> Actor:
    """The person as a page would hand it to a service."""
    return Actor(user.id, user.name, user.is_administrator, address, f"request-{user.id}", scopes)


def a_user(
    cluster: Cluster,
    name: str | None = None,
    role: UserRole = UserRole.USER,
    state: UserState = UserState.ACTIVE,
    **columns: Any,
) -> User:
    """Has no password, for hashing one takes time: `passwords.use_password_link` gives one."""
    name = name or f"user-{next(numbers)}"
    user = User(name=name, role=role, state=state, created_at=cluster.clock(), **columns)
    add(cluster, user)
    return user


def an_administrator(cluster: Cluster, name: str | None = None) -> User:
    return a_user(cluster, name or f"admin-{next(numbers)}", role=UserRole.ADMINISTRATOR)


def a_node(
    cluster: Cluster,
    units: int = 2,
    name: str | None = None,
    kind: UnitKind = UnitKind.CPU_SLOT,
    has_executor: bool = True,
    state: UnitState = UnitState.OK,
    facts: dict[str, Any] | None = None,
) -> Node:
    """With its units loaded."""
    number = next(numbers)
    prefix = "cpu" if kind is UnitKind.CPU_SLOT else f"GPU-{number:08x}"
    node = Node(
        name=name or f"node-{number}",
        boot_id=f"boot-{number}",
        has_executor=has_executor,
        heartbeat_at=cluster.clock(),
        created_at=cluster.clock(),
        facts=facts or {},
        units=[
            Unit(identity=f"{prefix}-{position}", position=position, kind=kind, state=state)
            for position in range(units)
        ],
    )
    add(cluster, node)
    return node


def a_workspace(
    cluster: Cluster,
    manager: User | None = None,
    members: tuple[User, ...] = (),
    units: int = 2,
    name: str | None = None,
    starts_on: date | None = None,
    ends_on: date | None = None,
    **columns: Any,
) -> Workspace:
    """From today for thirty days; the manager is a member. The sum of terms is not checked."""
    number = next(numbers)
    manager = manager or a_user(cluster)
    today = cluster.clock().astimezone(cluster.settings.zone).date()
    starts_on = starts_on or today
    workspace = Workspace(
        name=name or f"workspace-{number}",
        starts_on=starts_on,
        ends_on=ends_on or starts_on + timedelta(days=30),
        units=units,
        manager_id=manager.id,
        colour=number % 6 + 1,
        created_at=cluster.clock(),
        **columns,
    )
    with cluster.store.write() as session:
        people = {person.id: person for person in (manager, *members)}
        workspace.members = [session.get_one(User, user_id) for user_id in people]
        session.add(workspace)
        session.flush()
        session.refresh(workspace, ["manager", "members"])
    return workspace


def a_dataset(
    cluster: Cluster,
    workspace: Workspace,
    name: str | None = None,
    kind: DatasetKind = DatasetKind.SAMPLE,
    state: DatasetState = DatasetState.READY,
    **columns: Any,
) -> Dataset:
    dataset = Dataset(
        workspace_id=workspace.id,
        name=name or f"dataset-{next(numbers)}",
        kind=kind,
        state=state,
        created_by=columns.pop("created_by", workspace.manager_id),
        created_at=cluster.clock(),
        **columns,
    )
    add(cluster, dataset)
    return dataset


def an_environment(
    cluster: Cluster,
    name: str,
    workspaces: Sequence[Workspace] = (),
    contents: Sequence[Sequence[str]] = (("python", "3.11.2", "purpose.language"), ("torch", "2.7.1", "")),
    **columns: Any,
) -> Environment:
    """Ready, from requirements; global without workspaces."""
    environment = Environment(
        name=name,
        digest=columns.pop("digest", hashlib.sha256(name.encode()).hexdigest()),
        source=columns.pop("source", EnvironmentSource.REQUIREMENTS),
        state=columns.pop("state", EnvironmentState.READY),
        contents=[list(line) for line in contents],
        python=columns.pop("python", "3.11.2"),
        requirements=columns.pop("requirements", "torch==2.7.1"),
        path=columns.pop("path", f"/nowhere/{name}"),
        is_global=not workspaces,
        created_at=cluster.clock(),
        ready_at=cluster.clock(),
        **columns,
    )
    with cluster.store.write() as session:
        environment.workspaces = [session.get_one(Workspace, place.id) for place in workspaces]
        session.add(environment)
    return environment


def a_training(
    cluster: Cluster,
    workspace: Workspace,
    owner: User | None = None,
    name: str | None = None,
    kind: TrainingKind = TrainingKind.BUILT_IN,
    visibility: Visibility = Visibility.PUBLIC,
    **columns: Any,
) -> Training:
    """LeNet, unless it is somebody's own code, of which version 1 is said to be ready."""
    columns.setdefault("model", "lenet" if kind is TrainingKind.BUILT_IN else None)
    columns.setdefault("code_version", 0 if kind is TrainingKind.BUILT_IN else 1)
    training = Training(
        workspace_id=workspace.id,
        name=name or f"training-{next(numbers)}",
        kind=kind,
        visibility=visibility,
        owner_id=owner.id if owner else workspace.manager_id,
        created_at=cluster.clock(),
        **columns,
    )
    add(cluster, training)
    return training


def a_code_version(
    cluster: Cluster, training: Training, files: Sequence[tuple[str, bytes]], number: int = 1
) -> CodeVersion:
    """Ready, with its files on the storage, and what new jobs run."""
    folder = folders.code_folder(cluster.settings, training.workspace_id, training.id, number)
    staged_code.write_code(cluster.settings, folder, files, training.workspace_id)
    version = CodeVersion(
        training_id=training.id,
        number=number,
        state=CodeState.READY,
        source=CodeSource.FILES,
        files=len(files),
        bytes=sum(len(content) for _, content in files),
        manifest=[
            [path, len(content), hashlib.sha256(content).hexdigest()] for path, content in sorted(files)
        ],
        created_by=training.owner_id,
        created_at=cluster.clock(),
    )
    with cluster.store.write() as session:
        session.add(version)
        session.get_one(Training, training.id).code_version = number
    training.code_version = number
    return version


def a_job(
    cluster: Cluster,
    training: Training,
    user: User | None = None,
    units: int = 1,
    state: JobState = JobState.WAITING,
    **columns: Any,
) -> Job:
    """A row as it stands in `state`; a running one holds units by `holding`."""
    job = Job(
        workspace_id=training.workspace_id,
        training_id=training.id,
        user_id=user.id if user else training.owner_id,
        name=columns.pop("name", f"job-{next(numbers)}"),
        state=state,
        units=units,
        launcher=columns.pop("launcher", Launcher.HOROVOD),
        command=columns.pop("command", []),
        submitted_at=columns.pop("submitted_at", cluster.clock()),
        **columns,
    )
    with cluster.store.write() as session:
        session.add(job)
        session.flush()
        if "position" not in columns:
            job.position = first_position(job.id, job.priority)
    return job


def first_positions() -> ColumnElement[int]:
    """`first_position` computed by the database: for many rows at once."""
    number = cast(Job.id, BigInteger) * literal(POSITION_STEP, BigInteger)
    return number - cast(Job.priority, BigInteger) * literal(PRIORITY_STEP, BigInteger)


def holding(cluster: Cluster, job: Job, units: list[Unit]) -> Attempt:
    """An attempt of the job that runs on these units."""
    attempt = Attempt(
        job_id=job.id,
        number=1,
        state=AttemptState.RUNNING,
        node_id=units[0].node_id,
        created_at=cluster.clock(),
        started_at=cluster.clock(),
        allocations=[Allocation(unit_id=unit.id, begun_at=cluster.clock()) for unit in units],
    )
    add(cluster, attempt)
    return attempt


def a_repair_run(cluster: Cluster, user: User, name: str = "back-up-now", **columns: object) -> RepairRun:
    """One under way on the master unless told otherwise."""
    values: dict[str, object] = {
        "name": name,
        "target": "master",
        "host": "lab-a",
        "digest": "0" * 64,
        "reason": "before the update",
        "requested_by": user.id,
        "requested_at": cluster.clock(),
        "tasks": [{"name": "Write the database out as SQL", "hosts": {}}],
    }
    run = RepairRun(**values | columns)
    add(cluster, run)
    if run.ended_at is None:
        add(cluster, RepairLock(run_id=run.id, target=run.target))
    return run
