"""Reads the workspaces that have not ended, of which a person can still become a member."""

from collections.abc import Sequence

from sqlalchemy import select
from sqlalchemy.orm import Session

from cluster.domain.errors import Refused
from cluster.domain.people.actor import Actor
from cluster.domain.states import WorkspaceState
from cluster.domain.workspace_terms import workspace_state
from cluster.services.context import Cluster
from cluster.services.workspaces.queries import WorkspaceSummary, list_workspace_summaries
from cluster.store.workspaces import Workspace


def list_open_workspaces(cluster: Cluster, actor: Actor) -> list[WorkspaceSummary]:
    """Lists by name the workspaces that have not ended, of which a person can still become a member."""
    now, zone = cluster.clock(), cluster.settings.zone
    return [
        workspace
        for workspace in list_workspace_summaries(cluster, actor)
        if workspace_state(workspace, now, zone) is not WorkspaceState.EXPIRED
    ]


def load_open_workspaces(cluster: Cluster, session: Session, workspace_ids: Sequence[int]) -> list[Workspace]:
    """Workspaces that have not ended, by name. Raises Refused on `workspaces`."""
    rows = session.scalars(
        select(Workspace)
        .where(Workspace.id.in_(set(workspace_ids)))
        .order_by(Workspace.name)
        .with_for_update()
    ).all()
    if len(rows) < len(set(workspace_ids)):
        raise Refused("workspaces", "workspace.unknown")
    for workspace in rows:
        if workspace_state(workspace, cluster.clock(), cluster.settings.zone) is WorkspaceState.EXPIRED:
            raise Refused("workspaces", "workspace.ended", workspace=workspace.name)
    return list(rows)
