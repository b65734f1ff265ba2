"""A node, a workspace and a training with data, in which jobs are submitted."""

from dataclasses import dataclass

from sqlalchemy import select

from cluster.domain.jobs.submission import JobRequest
from cluster.domain.people.actor import Actor
from cluster.services.context import Cluster
from cluster.services.images import environments
from cluster.services.operations import lifecycle
from cluster.store.audit import AuditEntry
from cluster.store.nodes import Node
from cluster.store.trainings import Training
from cluster.store.users import User
from cluster.store.workspaces import Workspace
from tests.builders import (
    a_dataset,
    a_node,
    a_training,
    a_user,
    a_workspace,
    actor_of,
    an_administrator,
)


@dataclass
class Lab:
    """A node with two units, a workspace that holds both, its built-in training with data, all ready."""

    node: Node
    workspace: Workspace
    manager: User
    member: User
    training: Training
    request: JobRequest

    @property
    def actor(self) -> Actor:
        return actor_of(self.member)


def make_environment_ready(cluster: Cluster) -> None:
    actor = actor_of(an_administrator(cluster))
    environment = environments.ensure_default_environment(cluster, actor, "digest", "/nowhere")
    assert environment.operation_id is not None
    operation = lifecycle.claim_operation(cluster, environment.operation_id, "a worker")
    assert operation is not None
    environments.finish_build(cluster, operation.id, operation.fence, [])


def a_lab(cluster: Cluster) -> Lab:
    manager, member = a_user(cluster), a_user(cluster)
    workspace = a_workspace(cluster, manager, members=(member,), units=2)
    dataset = a_dataset(cluster, workspace)
    make_environment_ready(cluster)
    request = JobRequest(name="one", units=1, dataset_id=dataset.id, variables={"epochs": "3"})
    return Lab(a_node(cluster, 2), workspace, manager, member, a_training(cluster, workspace), request)


def audited_ids(cluster: Cluster, action: str) -> list[int | None]:
    """The ids of the objects of this action's entries, the oldest first."""
    with cluster.store.read() as session:
        query = select(AuditEntry.object_id).where(AuditEntry.action == action).order_by(AuditEntry.id)
        return list(session.scalars(query))
