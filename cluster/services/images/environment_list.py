"""Reads environments for pages and REST, as far as the person may see them, with who uses them."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Select, func, or_, select
from sqlalchemy.orm import Session, joinedload, selectinload, undefer

from cluster.domain.errors import NotFound
from cluster.domain.people.actor import Actor
from cluster.domain.states import EnvironmentSource
from cluster.services.context import Cluster
from cluster.services.images.environments import DEFAULT_ENVIRONMENT_FACT
from cluster.store.environments import Environment
from cluster.store.facts import InstallationFact
from cluster.store.jobs import IS_LIVE, Job
from cluster.store.sql.visibility import (
    can_see_environment,
    can_see_job,
    can_see_training,
    can_see_workspace,
)
from cluster.store.trainings import Training
from cluster.store.workspaces import Workspace

SHOWN_USERS = 20
"""The number of trainings and jobs that are named; all are counted."""


@dataclass(frozen=True)
class EnvironmentUse:
    """The trainings that name an environment and the jobs that have not ended. A person sees the names of those that
    they may see, and the numbers of all.
    """

    trainings: int
    jobs: int
    named_trainings: Sequence[tuple[int, str]] = ()
    named_jobs: Sequence[tuple[int, str]] = ()

    @property
    def is_used(self) -> bool:
        return bool(self.trainings or self.jobs)


NOT_USED = EnvironmentUse(0, 0)


def list_environments(cluster: Cluster, actor: Actor) -> list[Environment]:
    """The default one first, then by name; without deleted ones."""
    with cluster.store.read() as session:
        rows = list(session.scalars(select_listed(actor)))
    return sorted(rows, key=lambda row: (row.source != EnvironmentSource.DEFAULT, row.name))


def select_listed(actor: Actor) -> Select[Environment]:
    current = InstallationFact.value["digest"].as_string()
    is_current = select(current).where(InstallationFact.name == DEFAULT_ENVIRONMENT_FACT).scalar_subquery()
    return (
        select(Environment)
        .where(
            Environment.deleted_at.is_(None),
            can_see_environment(actor),
            or_(Environment.source != EnvironmentSource.DEFAULT, Environment.digest == is_current),
        )
        .options(selectinload(Environment.workspaces), joinedload(Environment.operation))
    )


def load_environment(session: Session, actor: Actor, environment_id: int) -> Environment:
    """Reads what the page of an environment shows, also of a deleted one. Raises NotFound if it is not visible."""
    environment = session.scalar(
        select(Environment)
        .where(Environment.id == environment_id, can_see_environment(actor))
        .options(
            undefer(Environment.requirements),
            undefer(Environment.pins),
            selectinload(Environment.workspaces),
            joinedload(Environment.operation),
            joinedload(Environment.creator),
            joinedload(Environment.base),
        )
    )
    if environment is None:
        raise NotFound("environment", environment_id)
    return environment


def read_environment(cluster: Cluster, actor: Actor, environment_id: int) -> Environment:
    with cluster.store.read() as session:
        return load_environment(session, actor, environment_id)


def read_scopes(cluster: Cluster, actor: Actor, rows: Collection[Environment]) -> dict[int, list[Workspace]]:
    """Reads which workspaces may choose each environment, as far as the person may see them."""
    wanted = {workspace.id for row in rows for workspace in row.workspaces}
    seen = wanted
    if wanted and not actor.is_administrator:
        query = select(Workspace.id).where(Workspace.id.in_(wanted), can_see_workspace(actor))
        with cluster.store.read() as session:
            seen = set(session.scalars(query))
    return {row.id: [workspace for workspace in row.workspaces if workspace.id in seen] for row in rows}


def read_ran_in(cluster: Cluster, jobs: Collection[Job]) -> dict[int, Environment]:
    """Returns each job's environment at its newest attempt, whoever may see that environment. Jobs that have not begun,
    and those of older versions, are left out.
    """
    ids = {job.id: job.attempts[-1].environment_id for job in jobs if job.attempts}
    wanted = {key for key in ids.values() if key is not None}
    if not wanted:
        return {}
    with cluster.store.read() as session:
        rows = {row.id: row for row in session.scalars(select(Environment).where(Environment.id.in_(wanted)))}
    return {job_id: rows[key] for job_id, key in ids.items() if key in rows}


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
