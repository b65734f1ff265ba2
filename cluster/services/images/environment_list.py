"""Reads environments for pages and REST, as far as the person may see them."""

from collections.abc import Collection

from sqlalchemy import Select, or_, select
from sqlalchemy.orm import Session, joinedload, selectinload, undefer

from cluster.domain.errors import NotFound
from cluster.domain.people.actor import Actor
from cluster.domain.states import EnvironmentSource
from cluster.services.context import Cluster
from cluster.services.images.environments import DEFAULT_ENVIRONMENT_FACT
from cluster.store.environments import Environment
from cluster.store.facts import InstallationFact
from cluster.store.jobs import Job
from cluster.store.sql.visibility import (
    can_see_environment,
    can_see_workspace,
)
from cluster.store.workspaces import Workspace


def list_environments(cluster: Cluster, actor: Actor) -> list[Environment]:
    """Lists the environments that are not deleted: the default one first, then the others by name."""
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
