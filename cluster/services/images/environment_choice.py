"""Reads which environment a job runs in: the one that it or its training names, else the default."""

from collections.abc import Collection

from sqlalchemy import or_, select
from sqlalchemy.orm import Session, selectinload

from cluster.domain.environments.choices import EnvironmentTerms, check_choice
from cluster.domain.errors import Refused
from cluster.domain.jobs.submission import DEFAULT_ENVIRONMENT_ID
from cluster.domain.states import EnvironmentSource, EnvironmentState
from cluster.services.context import Cluster
from cluster.store.environments import Environment, EnvironmentWorkspace
from cluster.store.trainings import Training


def choose_environment(
    cluster: Cluster, session: Session, training: Training, wanted: int | None
) -> Environment | None:
    """`wanted` is an id, `DEFAULT_ENVIRONMENT_ID`, or None for what the training names. None: the default one. Raises
    Refused on `environment`.
    """
    chosen = training.environment_id if wanted is None else wanted
    if chosen is None or chosen == DEFAULT_ENVIRONMENT_ID:
        return None
    environment = session.get(Environment, chosen, options=[selectinload(Environment.workspaces)])
    if environment is None:
        raise Refused("environment", "job.environment_unknown", id=chosen)
    if environment.source == EnvironmentSource.DEFAULT:
        return None
    is_in_image = cluster.settings.executor.capabilities.has_environment_in_image
    check_choice(terms_of(environment), training.workspace_id, is_in_image)
    return environment


def terms_of(environment: Environment) -> EnvironmentTerms:
    return EnvironmentTerms(
        environment.id,
        environment.name,
        environment.source,
        environment.state,
        environment.python,
        environment.deleted_at is not None,
        environment.is_global,
        frozenset(workspace.id for workspace in environment.workspaces),
    )


def load_environments(session: Session, ids: Collection[int]) -> dict[int, Environment]:
    """Reads environments by id, deleted and failed ones included."""
    if not ids:
        return {}
    return {row.id: row for row in session.scalars(select(Environment).where(Environment.id.in_(ids)))}


def list_choices(cluster: Cluster, workspace_id: int) -> list[Environment]:
    """The environments beside the default one that a training of the workspace may choose, by name."""
    is_in_image = cluster.settings.executor.capabilities.has_environment_in_image
    wanted = (
        [EnvironmentSource.IMAGE]
        if is_in_image
        else [EnvironmentSource.REQUIREMENTS, EnvironmentSource.NOTEBOOK]
    )
    named = select(EnvironmentWorkspace.environment_id).where(
        EnvironmentWorkspace.workspace_id == workspace_id
    )
    query = (
        select(Environment)
        .where(
            Environment.source.in_(wanted),
            Environment.state != EnvironmentState.UNAPPROVED,
            Environment.deleted_at.is_(None),
            or_(Environment.is_global, Environment.id.in_(named)),
        )
        .order_by(Environment.name)
    )
    with cluster.store.read() as session:
        return list(session.scalars(query))


def read_chosen(cluster: Cluster, environment_id: int | None) -> Environment | None:
    """Reads an environment that was chosen earlier, even if it has been deleted since."""
    if not environment_id:
        return None
    with cluster.store.read() as session:
        return session.get(Environment, environment_id)
