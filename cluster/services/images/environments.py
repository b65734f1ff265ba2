"""The default training environment: which one it is, whether it is ready, and its build."""

from dataclasses import dataclass

from sqlalchemy import Select, select
from sqlalchemy.orm import Session, joinedload, undefer

from cluster.domain.errors import NotFound
from cluster.domain.people.actor import Actor
from cluster.domain.states import EnvironmentSource, EnvironmentState, OperationKind, OperationState
from cluster.services.context import Cluster
from cluster.services.operations.lifecycle import (
    enqueue_operation,
    fail_operation,
    finish_operation,
    request_operation,
)
from cluster.services.storage.environment_storage import paying_workspace
from cluster.services.storage.workspace_storage import add_stored_bytes
from cluster.store.environments import Environment
from cluster.store.facts import InstallationFact
from cluster.store.operations import Operation

DEFAULT_ENVIRONMENT_FACT = "default_environment"
DEFAULT_ENVIRONMENT: Select[Environment] = (
    select(Environment)
    .join(InstallationFact, InstallationFact.value["digest"].as_string() == Environment.digest)
    .where(
        InstallationFact.name == DEFAULT_ENVIRONMENT_FACT,
        Environment.source == EnvironmentSource.DEFAULT.value,
    )
)
"""The statement is built once, because every submission and every decision of the scheduler executes it."""


def ensure_default_environment(cluster: Cluster, actor: Actor, digest: str, path: str) -> Environment:
    """Makes the environment of this digest the default one, and requests its build if it is not ready.

    `path` is where the built environment will be. The call can be repeated.
    """
    now = cluster.clock()
    requested: Operation | None = None
    with cluster.store.write() as session:
        session.merge(InstallationFact(name=DEFAULT_ENVIRONMENT_FACT, value={"digest": digest}))
        environment = session.scalar(
            select(Environment)
            .where(Environment.digest == digest, Environment.source == EnvironmentSource.DEFAULT)
            .with_for_update()
        )
        if environment is None:
            environment = Environment(name="default", digest=digest, path=path, created_at=now)
            session.add(environment)
            session.flush()
        if environment.state is not EnvironmentState.READY and not is_being_built(session, environment):
            requested = request_operation(
                session, OperationKind.ENVIRONMENT_BUILD, environment.id, actor, now
            )
            environment.state = EnvironmentState.BUILDING
            environment.operation_id = requested.id
    if requested is not None:
        enqueue_operation(cluster, requested)
    return environment


def is_being_built(session: Session, environment: Environment) -> bool:
    operation = session.get(Operation, environment.operation_id) if environment.operation_id else None
    return operation is not None and operation.state in (OperationState.REQUESTED, OperationState.RUNNING)


def read_default_environment(cluster: Cluster) -> Environment | None:
    with cluster.store.read() as session:
        return load_default_environment(session)


def load_default_environment(session: Session) -> Environment | None:
    return session.scalar(DEFAULT_ENVIRONMENT)


def rebuild_default_environment(cluster: Cluster, actor: Actor) -> None:
    """Requests a build because the files of a ready environment are gone."""
    with cluster.store.write() as session:
        environment = load_default_environment(session)
        if environment is not None:
            environment.state = EnvironmentState.MISSING
    if environment is not None:
        ensure_default_environment(cluster, actor, environment.digest, environment.path)


def finish_build(cluster: Cluster, operation_id: int, fence: int, contents: list[list[str]]) -> None:
    """Records the end of a build. `contents` is [[library, version, purpose], …]. Raises Conflict if the fence is
    stale.
    """
    now = cluster.clock()
    with cluster.store.write() as session:
        operation = finish_operation(session, operation_id, fence, now)
        environment = session.get_one(Environment, operation.subject_id)
        environment.state = EnvironmentState.READY
        environment.contents = list(contents)
        environment.ready_at = now
    publish_build_end(cluster, operation)


@dataclass(frozen=True)
class BuiltFromRequirements:
    """The result of the task. `contents` is [[library, version, purpose], …], `size` is in bytes."""

    digest: str
    pins: str
    python: str
    size: int
    contents: list[list[str]]


def finish_install(cluster: Cluster, operation_id: int, fence: int, built: BuiltFromRequirements) -> None:
    """Records the end of a build from requirements. Raises Conflict if the fence is stale."""
    now = cluster.clock()
    with cluster.store.write() as session:
        operation = finish_operation(session, operation_id, fence, now)
        environment = session.get_one(Environment, operation.subject_id)
        environment.state = EnvironmentState.READY
        count_environment(session, environment, built.size)
        environment.digest, environment.pins = built.digest, built.pins
        environment.python, environment.size_bytes = built.python, built.size
        environment.contents = built.contents
        environment.ready_at = now
    publish_build_end(cluster, operation)


def count_environment(session: Session, environment: Environment, size: int) -> None:
    """Counts what this build adds to the storage of its workspace; the next measurement counts it whole."""
    workspace_id = paying_workspace(environment)
    if workspace_id is not None:
        add_stored_bytes(session, workspace_id, size - (environment.size_bytes or 0))


def publish_build_end(cluster: Cluster, operation: Operation) -> None:
    cluster.events.publish("environments", operation.subject_id or 0)
    cluster.events.publish("operations", operation.id)
    cluster.events.publish("queue", 0)


def fail_build(cluster: Cluster, operation_id: int, fence: int, code: str, data: dict[str, object]) -> None:
    """Records the failure of a build. Raises Conflict if the fence is stale."""
    with cluster.store.write() as session:
        operation = fail_operation(session, operation_id, fence, cluster.clock(), code, data)
        session.get_one(Environment, operation.subject_id).state = EnvironmentState.FAILED
    publish_build_end(cluster, operation)


def read_environment_order(cluster: Cluster, operation: Operation) -> Environment:
    """The row with its requirements and pins. Raises NotFound if it was deleted since."""
    query = (
        select(Environment)
        .where(Environment.id == operation.subject_id, Environment.deleted_at.is_(None))
        .options(undefer(Environment.requirements), undefer(Environment.pins), joinedload(Environment.base))
    )
    with cluster.store.read() as session:
        environment = session.scalar(query)
    if environment is None:
        raise NotFound("environment", operation.subject_id)
    return environment
