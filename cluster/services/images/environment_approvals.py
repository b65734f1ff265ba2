"""Approves or declines an environment that somebody has asked for."""

from sqlalchemy import select
from sqlalchemy.orm import Session

from cluster.domain.errors import Conflict
from cluster.domain.people.actor import Actor
from cluster.domain.states import EnvironmentState
from cluster.services.context import Cluster
from cluster.services.images.environment_builds import request_build
from cluster.services.images.environment_scope import load_own
from cluster.services.operations.lifecycle import enqueue_operation
from cluster.store.audit import add_audit_entry
from cluster.store.environments import Environment
from cluster.store.operations import Operation


def approve_environment(cluster: Cluster, actor: Actor, environment_id: int) -> Operation:
    """Requests its build. For the managers of its workspaces. Raises NotFound, Forbidden, Refused, and Conflict if it
    does not wait for an approval.
    """
    with cluster.store.write() as session:
        environment = load_unapproved(session, actor, environment_id)
        operation = request_build(session, actor, environment, cluster)
        add_audit_entry(
            session,
            cluster.clock(),
            actor,
            "environment.approved",
            environment.id,
            name=environment.name,
            packages=packages_of(environment),
        )
    enqueue_operation(cluster, operation)
    cluster.events.publish("environments", environment_id)
    return operation


def decline_environment(cluster: Cluster, actor: Actor, environment_id: int) -> None:
    """Declines the environment, whose name is free again. Raises what `approve_environment` raises."""
    now = cluster.clock()
    with cluster.store.write() as session:
        environment = load_unapproved(session, actor, environment_id)
        environment.deleted_at = now
        add_audit_entry(session, now, actor, "environment.declined", environment.id, name=environment.name)
    cluster.events.publish("environments", environment_id)


def load_unapproved(session: Session, actor: Actor, environment_id: int) -> Environment:
    environment = load_own(session, actor, environment_id, "environment.approve")
    session.execute(select(Environment.id).where(Environment.id == environment_id).with_for_update())
    session.refresh(environment)
    if environment.state is not EnvironmentState.UNAPPROVED:
        raise Conflict("environment.not_requested", name=environment.name)
    return environment


def packages_of(environment: Environment) -> list[str]:
    return (environment.requirements or "").split()
