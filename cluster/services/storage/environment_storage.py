"""Reads which environments count to the storage of a workspace."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from sqlalchemy import select
from sqlalchemy.orm import Session

from cluster.domain.environments.storage import choose_paying_workspace
from cluster.store.environments import Environment, EnvironmentWorkspace
from cluster.store.workspaces import Workspace


@dataclass(frozen=True)
class StoredEnvironment:
    """`size` is in bytes."""

    id: int
    name: str
    size: int


def paying_workspace(environment: Environment) -> int | None:
    managers = {workspace.id: workspace.manager_id for workspace in environment.workspaces}
    return None if environment.is_global else choose_paying_workspace(managers, environment.created_by)


def load_stored_environments(session: Session) -> Mapping[int, list[StoredEnvironment]]:
    """Returns workspace id → the environments that count to it, by name, without those that are being deleted."""
    query = (
        select(Environment.id, Environment.name, Environment.size_bytes, Environment.created_by)
        .add_columns(Workspace.id, Workspace.manager_id)
        .join(EnvironmentWorkspace, EnvironmentWorkspace.environment_id == Environment.id)
        .join(Workspace, Workspace.id == EnvironmentWorkspace.workspace_id)
        .where(Environment.deleted_at.is_(None), Environment.size_bytes > 0, Environment.is_global.is_(False))
        .order_by(Environment.name)
    )
    managers: dict[tuple[StoredEnvironment, int | None], dict[int, int]] = defaultdict(dict)
    for key, name, size, created_by, workspace_id, manager_id in session.execute(query):
        managers[StoredEnvironment(key, name, size or 0), created_by][workspace_id] = manager_id
    found: dict[int, list[StoredEnvironment]] = defaultdict(list)
    for (environment, created_by), scope in managers.items():
        workspace_id = choose_paying_workspace(scope, created_by)
        if workspace_id is not None:
            found[workspace_id].append(environment)
    return found


def sum_environments(session: Session) -> dict[int, int]:
    """Bytes by workspace."""
    stored = load_stored_environments(session)
    return {workspace_id: sum(each.size for each in some) for workspace_id, some in stored.items()}
