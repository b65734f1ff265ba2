"""The steps that an installation, and a person new to it, still have to take before the first job runs."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import select

from cluster.domain.people.actor import Actor
from cluster.domain.states import DatasetState, JobState, UserState
from cluster.services.backups.manifests import last_verified_backup, read_backups
from cluster.services.context import Cluster
from cluster.services.first_training import read_first_training
from cluster.store.datasets import Dataset
from cluster.store.jobs import Job
from cluster.store.sql.visibility import can_see_training
from cluster.store.trainings import Training
from cluster.store.users import User
from cluster.store.workspaces import Workspace

IN_ORDER_OF_INDEX = (Job.training_id, Job.units, Job.id)
"""The columns of the index `ix_jobs_finished`. A query in this order reads one entry."""


@dataclass(frozen=True)
class InstallationSteps:
    """The steps. `finished_job` is a job that showed that training works; both checks are None until they pass."""

    has_people: bool
    has_workspace: bool
    finished_job: int | None
    verified_backup_at: datetime | None

    @property
    def are_done(self) -> bool:
        checks = (self.finished_job, self.verified_backup_at)
        return self.has_people and self.has_workspace and None not in checks


@dataclass(frozen=True)
class ResearcherSteps:
    """The newest dataset and training that the person can use in one workspace; None for each that does not exist."""

    workspace_id: int
    dataset_id: int | None
    training_id: int | None


def read_installation_steps(cluster: Cluster, actor: Actor) -> InstallationSteps:
    """Reads the steps. The workspace of the installation's own first training does not count."""
    others = select(User.id).where(User.id != actor.user_id, User.state != UserState.SERVICE).limit(1)
    managed = select(Workspace.id).join(Workspace.manager).where(User.state != UserState.SERVICE).limit(1)
    with cluster.store.read() as session:
        has_people = session.scalar(others) is not None
        has_workspace = session.scalar(managed) is not None
        finished = select(Job.id).where(Job.state == JobState.FINISHED).order_by(*IN_ORDER_OF_INDEX).limit(1)
        finished_job = read_first_training(cluster) or session.scalar(finished)
    verified = last_verified_backup(read_backups(cluster.settings.backups))
    return InstallationSteps(has_people, has_workspace, finished_job, verified.made_at if verified else None)


def read_researcher_steps(cluster: Cluster, actor: Actor, workspace_ids: Collection[int]) -> ResearcherSteps:
    """Reads the steps in the first of these workspaces that has a training. `workspaces` must not be empty."""
    trainings = select(Training.id, Training.workspace_id).where(
        Training.workspace_id.in_(workspace_ids), can_see_training(actor)
    )
    datasets = select(Dataset.id, Dataset.workspace_id).where(
        Dataset.workspace_id.in_(workspace_ids),
        Dataset.state == DatasetState.READY,
        Dataset.deleted_at.is_(None),
    )
    with cluster.store.read() as session:
        training = session.execute(trainings.order_by(Training.id.desc()).limit(1)).first()
        if training is not None:
            datasets = datasets.where(Dataset.workspace_id == training.workspace_id)
        dataset = session.execute(datasets.order_by(Dataset.id.desc()).limit(1)).first()
    chosen = training or dataset
    return ResearcherSteps(
        chosen.workspace_id if chosen else next(iter(workspace_ids)),
        dataset.id if dataset else None,
        training.id if training else None,
    )
