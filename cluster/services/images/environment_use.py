"""Counts the trainings and jobs that use an environment, and names those that the reader may see."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, func, select
from sqlalchemy.orm import Session

from cluster.domain.errors import Refused
from cluster.domain.people.actor import Actor
from cluster.domain.states import LIVE_JOB_STATES
from cluster.services.context import Cluster
from cluster.store.environments import Environment
from cluster.store.jobs import IS_LIVE, Job
from cluster.store.sql.visibility import (
    can_see_job,
    can_see_training,
)
from cluster.store.trainings import Training
from cluster.store.workspaces import Workspace

SHOWN_USERS = 20
"""The number of trainings and jobs that are named; all are counted."""


@dataclass(frozen=True)
class EnvironmentUse:
    """The trainings that name an environment and the jobs that have not ended. The reader gets the names of those that
    the reader may see, and the number of all.
    """

    trainings: int
    jobs: int
    named_trainings: Sequence[tuple[int, str]] = ()
    named_jobs: Sequence[tuple[int, str]] = ()

    @property
    def is_used(self) -> bool:
        return bool(self.trainings or self.jobs)


NOT_USED = EnvironmentUse(0, 0)


def read_use(cluster: Cluster, actor: Actor, environment_id: int) -> EnvironmentUse:
    with cluster.store.read() as session:
        return load_use(session, actor, environment_id)


def load_use(session: Session, actor: Actor, environment_id: int) -> EnvironmentUse:
    trainings = (Training.environment_id == environment_id) & Training.deleted_at.is_(None)
    jobs = (Job.environment_id == environment_id) & Job.environment_id.is_not(None) & IS_LIVE
    named_trainings = select(Training.id, Training.name).where(trainings, can_see_training(actor))
    named_jobs = select(Job.id, Job.name).where(jobs, can_see_job(actor))
    return EnvironmentUse(
        count(session, Training.id, trainings),
        count(session, Job.id, jobs),
        [
            (key, name)
            for key, name in session.execute(named_trainings.order_by(Training.name).limit(SHOWN_USERS))
        ],
        [(key, name) for key, name in session.execute(named_jobs.order_by(Job.id).limit(SHOWN_USERS))],
    )


def count(session: Session, column: Any, condition: ColumnElement[bool]) -> int:
    return session.scalar(select(func.count(column)).where(condition)) or 0


def read_use_counts(cluster: Cluster) -> dict[int, EnvironmentUse]:
    """Reads the numbers by environment."""
    live = (Job.environment_id.is_not(None), IS_LIVE)
    named = (Training.environment_id.is_not(None), Training.deleted_at.is_(None))
    by_job = select(Job.environment_id, func.count()).where(*live).group_by(Job.environment_id)
    by_training = (
        select(Training.environment_id, func.count()).where(*named).group_by(Training.environment_id)
    )
    with cluster.store.read() as session:
        jobs = {key: number for key, number in session.execute(by_job)}  # noqa: C416
        trainings = {key: number for key, number in session.execute(by_training)}  # noqa: C416
    return {
        key: EnvironmentUse(trainings.get(key, 0), jobs.get(key, 0))
        for key in {*jobs, *trainings}
        if key is not None
    }


def require_unused_elsewhere(session: Session, environment: Environment, kept: Sequence[int]) -> None:
    trainings = (
        select(Workspace.name)
        .join(Training, Training.workspace_id == Workspace.id)
        .where(Training.environment_id == environment.id, Training.deleted_at.is_(None))
    )
    jobs = (
        select(Workspace.name)
        .join(Job, Job.workspace_id == Workspace.id)
        .where(Job.environment_id == environment.id, Job.state.in_(LIVE_JOB_STATES))
    )
    users = {
        name
        for query in (trainings, jobs)
        for name in session.scalars(query.where(Workspace.id.not_in(kept)).distinct())
    }
    if users:
        raise Refused(
            "workspaces", "environment.used_in_workspaces", name=environment.name, workspaces=sorted(users)
        )
