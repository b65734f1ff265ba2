"""Deletes environments that nobody uses."""

from cluster.domain.errors import Conflict
from cluster.domain.people.actor import Actor
from cluster.domain.states import (
    OperationKind,
)
from cluster.services.context import Cluster
from cluster.services.images.environment_scope import load_own
from cluster.services.images.environment_use import load_use
from cluster.services.images.environments import is_being_built
from cluster.services.operations.lifecycle import (
    enqueue_operation,
    request_operation,
)
from cluster.store.audit import add_audit_entry


def delete_environment(cluster: Cluster, actor: Actor, environment_id: int) -> None:
    """Raises Conflict, which names the trainings and jobs that use the environment. The row stays, because jobs ran in
    it; a task deletes the files.
    """
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
