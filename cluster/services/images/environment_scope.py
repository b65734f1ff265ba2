"""Changes which workspaces may choose an environment."""

from collections.abc import Sequence

from sqlalchemy.orm import Session

from cluster.domain.errors import Conflict, Forbidden
from cluster.domain.names import check_text
from cluster.domain.people.actor import Actor
from cluster.domain.people.permissions import require_administrator, require_permission
from cluster.domain.states import EnvironmentSource
from cluster.services.context import Cluster
from cluster.services.images.environment_list import load_environment
from cluster.services.images.environment_use import require_unused_elsewhere
from cluster.services.people.access import load_workspace, workspace_relation
from cluster.store.audit import add_audit_entry
from cluster.store.environments import Environment
from cluster.store.workspaces import Workspace

LONGEST_DESCRIPTION = 500


def load_scope(session: Session, actor: Actor, workspace_ids: Sequence[int]) -> list[Workspace]:
    """Returns the workspaces that may choose it; the person manages all of them. Only administrators make it global."""
    if not workspace_ids:
        require_administrator(actor)
    found = [load_workspace(session, actor, workspace_id) for workspace_id in dict.fromkeys(workspace_ids)]
    for workspace in found:
        require_permission("environment.create", workspace_relation(actor, workspace), workspace.id)
    return found


def load_own(session: Session, actor: Actor, environment_id: int, action: str) -> Environment:
    """Returns an environment that this person may change. Raises Conflict for one that comes with the installation."""
    environment = load_environment(session, actor, environment_id)
    if environment.source in (EnvironmentSource.DEFAULT, EnvironmentSource.IMAGE):
        raise Conflict("environment.protected", name=environment.name)
    if environment.deleted_at is not None:
        raise Conflict("environment.was_deleted", name=environment.name)
    if not can_change(actor, environment):
        raise Forbidden(f"forbidden.{action}", allowed=["administrator", "manager"])
    return environment


def require_change(cluster: Cluster, actor: Actor, environment_id: int) -> None:
    """Raises NotFound, Forbidden or Conflict for who may not change it, before a form is read."""
    with cluster.store.read() as session:
        load_own(session, actor, environment_id, "environment.edit")


def can_change(actor: Actor, environment: Environment) -> bool:
    """Whether the person is an administrator, or the manager of all its workspaces."""
    if actor.is_administrator:
        return True
    managers = {workspace.manager_id for workspace in environment.workspaces}
    return not environment.is_global and managers == {actor.user_id}


def change_scope(
    cluster: Cluster,
    actor: Actor,
    environment_id: int,
    workspace_ids: Sequence[int] | None,
    description: str | None = None,
) -> Environment:
    """Changes who may choose it, and its description; None leaves either as it is. Raises Refused on `workspaces` if
    somebody uses it in a workspace that is left out.
    """
    now = cluster.clock()
    with cluster.store.write() as session:
        environment = load_own(session, actor, environment_id, "environment.edit")
        if workspace_ids is not None:
            workspaces = load_scope(session, actor, workspace_ids)
            if workspaces:
                require_unused_elsewhere(session, environment, [workspace.id for workspace in workspaces])
            environment.workspaces = workspaces
            environment.is_global = not workspaces
        if description is not None:
            environment.description = check_text(description, "description", LONGEST_DESCRIPTION)
        scope = [workspace.name for workspace in environment.workspaces]
        add_audit_entry(
            session,
            now,
            actor,
            "environment.changed",
            environment.id,
            name=environment.name,
            workspaces=scope,
        )
    cluster.events.publish("environments", environment_id)
    return environment
