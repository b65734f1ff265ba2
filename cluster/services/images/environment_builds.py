"""Requests and cancels builds of an environment."""

from sqlalchemy.orm import Session

from cluster.domain.errors import Conflict
from cluster.domain.people.actor import Actor
from cluster.domain.states import (
    EnvironmentState,
    OperationKind,
    OperationState,
)
from cluster.services.context import Cluster
from cluster.services.images.environment_scope import load_own
from cluster.services.images.environment_use import load_use
from cluster.services.images.environments import is_being_built
from cluster.services.operations.lifecycle import (
    close_step,
    end_operation,
    enqueue_operation,
    request_operation,
)
from cluster.services.storage.workspace_storage import require_storage_room
from cluster.store.audit import add_audit_entry
from cluster.store.environments import Environment
from cluster.store.operations import Operation


def request_build(session: Session, actor: Actor, environment: Environment, cluster: Cluster) -> Operation:
    """Raises Refused on `workspaces` for a workspace that has reached its storage limit."""
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
