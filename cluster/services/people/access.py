"""Loads workspaces for a person and determines the person's relation to them and to their contents. Raises NotFound for
everything that the person may not see.
"""

from sqlalchemy import select
from sqlalchemy.orm import Session, joinedload, selectinload

from cluster.domain.errors import NotFound, Refused
from cluster.domain.people.actor import Actor
from cluster.domain.people.permissions import (
    Relation,
    is_allowed,
    relation_to_job,
    relation_to_owned_object,
    relation_to_training,
    relation_to_workspace,
    require_permission,
)
from cluster.domain.states import WorkspaceState
from cluster.domain.workspace_terms import workspace_state
from cluster.services.context import Cluster
from cluster.store.datasets import Dataset
from cluster.store.jobs import Job, Sweep
from cluster.store.sql.visibility import can_see_workspace
from cluster.store.trainings import Training
from cluster.store.workspaces import Workspace


def load_workspace(session: Session, actor: Actor, workspace_id: int) -> Workspace:
    """Loads the workspace with manager and members. Raises NotFound if the person may not see it."""
    workspace = session.scalar(
        select(Workspace)
        .where(Workspace.id == workspace_id, can_see_workspace(actor))
        .options(joinedload(Workspace.manager), selectinload(Workspace.members))
    )
    if workspace is None:
        raise NotFound("workspace", workspace_id)
    return workspace


def require_active_workspace(cluster: Cluster, workspace: Workspace, field: str) -> None:
    """Raises Refused on `field` before the term and after its end. Everything that exists can be read at any time."""
    zone = cluster.settings.zone
    state = workspace_state(workspace, cluster.clock(), zone)
    if state is WorkspaceState.SCHEDULED:
        starts = workspace.starts_on.isoformat()
        raise Refused(field, "workspace.not_started", workspace=workspace.name, starts_on=starts)
    if state is WorkspaceState.EXPIRED:
        last = workspace.ended_at.astimezone(zone).date() if workspace.ended_at else workspace.ends_on
        raise Refused(field, "workspace.expired", workspace=workspace.name, ended_on=last.isoformat())


def workspace_relation(actor: Actor, workspace: Workspace) -> Relation:
    return relation_to_workspace(actor, workspace.manager_id, [member.id for member in workspace.members])


def can_change_workspace(action: str, actor: Actor, workspace: Workspace) -> bool:
    """`action` is one of `permissions.ALLOWED_RELATIONS`, such as `workspace.edit`."""
    return is_allowed(action, workspace_relation(actor, workspace))


def require_workspace_action(action: str, actor: Actor, workspace: Workspace) -> None:
    """Raises Forbidden, which names who may do it, or NotFound for a person without a relation."""
    require_permission(action, workspace_relation(actor, workspace), workspace.id)


def dataset_relation(actor: Actor, dataset: Dataset) -> Relation:
    return relation_to_owned_object(workspace_relation(actor, dataset.workspace), actor, dataset.created_by)


def training_relation(actor: Actor, training: Training) -> Relation:
    return relation_to_training(
        actor,
        training.workspace.manager_id,
        [member.id for member in training.workspace.members],
        training.owner_id,
        training.visibility,
        [member.id for member in training.members],
    )


def job_relation(actor: Actor, job: Job) -> Relation:
    return relation_to_job(training_relation(actor, job.training), actor, job.user_id)


def sweep_relation(actor: Actor, sweep: Sweep) -> Relation:
    return relation_to_job(training_relation(actor, sweep.training), actor, sweep.user_id)
