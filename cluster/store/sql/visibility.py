"""SQL conditions that limit a query to the workspaces, trainings, datasets and jobs that a person may see."""

from sqlalchemy import ColumnElement, exists, or_, select, true

from cluster.domain.people.actor import Actor
from cluster.domain.states import Visibility
from cluster.store.datasets import Dataset
from cluster.store.environments import Environment, EnvironmentWorkspace
from cluster.store.jobs import Job
from cluster.store.trainings import Training, TrainingMember
from cluster.store.workspaces import Workspace, WorkspaceMember


def member_workspace_ids(viewer: Actor) -> ColumnElement[int]:
    """A subquery of the workspaces in which the viewer is a member."""
    return (
        select(WorkspaceMember.workspace_id)
        .where(WorkspaceMember.user_id == viewer.user_id)
        .scalar_subquery()
    )


def can_see_workspace(viewer: Actor) -> ColumnElement[bool]:
    return true() if viewer.is_administrator else Workspace.id.in_(member_workspace_ids(viewer))


def can_see_dataset(viewer: Actor) -> ColumnElement[bool]:
    return true() if viewer.is_administrator else Dataset.workspace_id.in_(member_workspace_ids(viewer))


def can_see_training(viewer: Actor) -> ColumnElement[bool]:
    """A private training is visible to its owner, its named members and the workspace's manager."""
    if viewer.is_administrator:
        return true()
    named = exists().where(
        TrainingMember.training_id == Training.id, TrainingMember.user_id == viewer.user_id
    )
    manages = exists().where(Workspace.id == Training.workspace_id, Workspace.manager_id == viewer.user_id)
    return Training.workspace_id.in_(member_workspace_ids(viewer)) & or_(
        Training.visibility == Visibility.PUBLIC, Training.owner_id == viewer.user_id, named, manages
    )


def can_see_job(viewer: Actor, is_found_otherwise: bool = False) -> ColumnElement[bool]:
    """A person who may see the training may see the job. `is_found_otherwise`: another condition with an index leaves
    few jobs; SQLite would rather read all jobs of the trainings.
    """
    if viewer.is_administrator:
        return true()
    training_id = Job.training_id + 0 if is_found_otherwise else Job.training_id
    return training_id.in_(select(Training.id).where(can_see_training(viewer)))


def can_see_environment(viewer: Actor) -> ColumnElement[bool]:
    """Everybody sees global ones, and those of their workspaces."""
    if viewer.is_administrator:
        return true()
    named = select(EnvironmentWorkspace.environment_id).where(
        EnvironmentWorkspace.workspace_id.in_(member_workspace_ids(viewer))
    )
    return or_(Environment.is_global, Environment.id.in_(named))
