"""Adds environments from requirements files, changes who may choose them, builds them again and deletes them."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from cluster.domain.environments.choices import OLDEST_PYTHON, is_too_old
from cluster.domain.environments.requirements import parse_requirements
from cluster.domain.errors import Conflict, Refused
from cluster.domain.names import check_environment_name, check_text
from cluster.domain.people.actor import Actor
from cluster.domain.refusals import Refusals
from cluster.domain.states import (
    EnvironmentSource,
    EnvironmentState,
    OperationKind,
    OperationState,
)
from cluster.services.context import Cluster
from cluster.services.images.environment_scope import LONGEST_DESCRIPTION, load_own, load_scope
from cluster.services.images.environment_use import load_use
from cluster.services.images.environments import is_being_built
from cluster.services.operations.lifecycle import (
    close_step,
    end_operation,
    enqueue_operation,
    request_operation,
)
from cluster.services.storage.workspace_storage import require_storage_room
from cluster.settings import Settings
from cluster.store.audit import add_audit_entry
from cluster.store.environments import Environment
from cluster.store.operations import Operation
from cluster.store.workspaces import Workspace

FOLDER = "environments"


@dataclass(frozen=True)
class EnvironmentRequest:
    """The body of a form or of a REST request. Without workspaces the environment is global."""

    name: str
    requirements: str
    description: str = ""
    python: str = ""
    """A version as 3.11. Empty: that of the distribution."""
    builds_sources: bool = False
    workspace_ids: Sequence[int] = ()
    source: EnvironmentSource = EnvironmentSource.REQUIREMENTS
    base_id: int | None = None
    """The environment of which it is a copy, with these packages on top."""


def environments_folder(settings: Settings) -> Path:
    return settings.state_dir / FOLDER


def environment_folder(settings: Settings, environment_id: int) -> Path:
    return environments_folder(settings) / str(environment_id)


def add_environment(cluster: Cluster, actor: Actor, request: EnvironmentRequest) -> Environment:
    """Records the environment and requests its build. Raises Refused for each wrong field, Forbidden, NotFound."""
    require_own_builds(cluster)
    description = check_request(request)
    now = cluster.clock()
    try:
        with cluster.store.write() as session:
            workspaces = load_scope(session, actor, request.workspace_ids)
            environment = record_environment(cluster, session, actor, request, description, workspaces)
            operation = request_build(session, actor, environment, cluster)
            scope = [workspace.name for workspace in workspaces]
            add_audit_entry(
                session, now, actor, "environment.added", environment.id, name=request.name, workspaces=scope
            )
    except IntegrityError:
        raise Refused("name", "name.taken", name=request.name) from None
    enqueue_operation(cluster, operation)
    cluster.events.publish("environments", environment.id)
    return environment


def record_environment(
    cluster: Cluster,
    session: Session,
    actor: Actor,
    request: EnvironmentRequest,
    description: str,
    workspaces: list[Workspace],
) -> Environment:
    """The row of a checked request; nothing builds it yet. Raises IntegrityError if the name is taken."""
    environment = Environment(
        name=request.name,
        description=description,
        source=request.source,
        state=EnvironmentState.UNAPPROVED,
        python=request.python,
        requirements=request.requirements,
        builds_sources=request.builds_sources,
        base_id=request.base_id,
        is_global=not workspaces,
        workspaces=workspaces,
        created_by=actor.user_id,
        created_at=cluster.clock(),
    )
    session.add(environment)
    session.flush()
    environment.path = str(environment_folder(cluster.settings, environment.id))
    return environment


def require_own_builds(cluster: Cluster) -> None:
    """Raises Conflict where jobs run in what their image has."""
    if cluster.settings.executor.capabilities.has_environment_in_image:
        raise Conflict("environment.in_images")


def check_request(request: EnvironmentRequest) -> str:
    """Returns the stripped description. Raises Refused for every field that is wrong."""
    refusals = Refusals()
    refusals.check(check_environment_name, request.name)
    description = refusals.check(check_text, request.description, "description", LONGEST_DESCRIPTION) or ""
    refusals.check(parse_requirements, request.requirements)
    refusals.check(check_python, request.python)
    refusals.raise_all()
    return description


def check_python(version: str) -> None:
    """Checks the form of the version alone; only the machine that builds knows its interpreters. Raises Refused."""
    parts = version.split(".")
    if version and not (len(parts) == 2 and all(part.isascii() and part.isdigit() for part in parts)):
        raise Refused("python", "environment.python_unreadable", version=version[:20])
    if is_too_old(version):
        least = ".".join(map(str, OLDEST_PYTHON))
        raise Refused("python", "environment.python_too_old", version=version, least=least)


def request_build(session: Session, actor: Actor, environment: Environment, cluster: Cluster) -> Operation:
    """Raises Refused on `workspaces` for one that stores what it may already."""
    for workspace in environment.workspaces:
        require_storage_room(workspace, "workspaces")
    first = environment.workspaces[0].id if environment.workspaces else None
    operation = request_operation(
        session, OperationKind.ENVIRONMENT_INSTALL, environment.id, actor, cluster.clock(), first
    )
    environment.state = EnvironmentState.BUILDING
    environment.operation_id = operation.id
    return operation


def rebuild_environment(cluster: Cluster, actor: Actor, environment_id: int) -> Operation:
    """Installs the same pinned packages again. Raises Conflict while it is being built or jobs run in it."""
    with cluster.store.write() as session:
        environment = load_own(session, actor, environment_id, "environment.edit")
        require_approved(environment)
        if is_being_built(session, environment):
            raise Conflict("environment.being_built", name=environment.name)
        use = load_use(session, actor, environment_id)
        if environment.state is EnvironmentState.READY and use.jobs:
            raise Conflict("environment.jobs_use_it", name=environment.name, jobs=use.jobs)
        operation = request_build(session, actor, environment, cluster)
        add_audit_entry(
            session, cluster.clock(), actor, "environment.rebuilt", environment.id, name=environment.name
        )
    enqueue_operation(cluster, operation)
    cluster.events.publish("environments", environment_id)
    return operation


def require_approved(environment: Environment) -> None:
    if environment.state is EnvironmentState.UNAPPROVED:
        raise Conflict("environment.not_approved", name=environment.name)


def cancel_build(cluster: Cluster, actor: Actor, environment_id: int) -> None:
    """Cancels a build. Its task notices within seconds, at its next report. Raises Conflict if there is none."""
    now = cluster.clock()
    with cluster.store.write() as session:
        environment = load_own(session, actor, environment_id, "environment.edit")
        operation = (
            session.get(Operation, environment.operation_id, with_for_update=True)
            if environment.operation_id
            else None
        )
        if operation is None or operation.state not in (OperationState.REQUESTED, OperationState.RUNNING):
            raise Conflict("environment.not_being_built", name=environment.name)
        steps = [dict(step) for step in operation.steps]
        for step in steps:
            if step["state"] == "now":
                close_step(step, "failed", now)
        operation.steps = steps
        operation.error_code, operation.error_data = "environment.cancelled", {"user": actor.name}
        end_operation(operation, OperationState.FAILED, now)
        environment.state = EnvironmentState.FAILED
        add_audit_entry(
            session, now, actor, "environment.build_cancelled", environment.id, name=environment.name
        )
    cluster.events.publish("operations", operation.id)
    cluster.events.publish("environments", environment_id)


def delete_environment(cluster: Cluster, actor: Actor, environment_id: int) -> None:
    """Raises Conflict, with who uses it. The row stays, because jobs ran in it; a task deletes the files."""
    now = cluster.clock()
    with cluster.store.write() as session:
        environment = load_own(session, actor, environment_id, "environment.delete")
        if is_being_built(session, environment):
            raise Conflict("environment.being_built", name=environment.name)
        use = load_use(session, actor, environment_id)
        if use.is_used:
            raise Conflict(
                "environment.in_use",
                name=environment.name,
                trainings=use.trainings,
                jobs=use.jobs,
                users=[name for _, name in use.named_trainings] + [f"job-{key}" for key, _ in use.named_jobs],
            )
        environment.deleted_at = now
        operation = request_operation(session, OperationKind.ENVIRONMENT_DELETE, environment.id, actor, now)
        add_audit_entry(session, now, actor, "environment.deleted", environment.id, name=environment.name)
    enqueue_operation(cluster, operation)
    cluster.events.publish("environments", environment_id)
