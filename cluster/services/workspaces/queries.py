"""Reads workspaces, their summaries and the units that they use, as far as the person may see them."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import joinedload, selectinload

from cluster.domain.people.actor import Actor
from cluster.services.context import Cluster
from cluster.services.people.access import load_workspace
from cluster.services.placement.capacity import read_units_in_use
from cluster.store.nodes import offered_unit_kind
from cluster.store.sql.visibility import can_see_workspace
from cluster.store.workspaces import Workspace


@dataclass(frozen=True)
class WorkspaceSummary:
    id: int
    name: str
    units: int
    manager_id: int
    starts_on: date
    ends_on: date
    ended_at: datetime | None


SUMMARY_COLUMNS = (
    Workspace.id,
    Workspace.name,
    Workspace.units,
    Workspace.manager_id,
    Workspace.starts_on,
    Workspace.ends_on,
    Workspace.ended_at,
)


def list_workspace_summaries(cluster: Cluster, actor: Actor) -> list[WorkspaceSummary]:
    """Those of the person, or all for administrators, by name."""
    query = select(*SUMMARY_COLUMNS).where(can_see_workspace(actor)).order_by(Workspace.name)
    with cluster.store.read() as session:
        return [WorkspaceSummary(*row) for row in session.execute(query)]


def list_workspaces(cluster: Cluster, actor: Actor) -> list[Workspace]:
    """Those of the person, or all for administrators, by name; with manager and members."""
    query = (
        select(Workspace)
        .where(can_see_workspace(actor))
        .options(joinedload(Workspace.manager), selectinload(Workspace.members))
        .order_by(Workspace.name)
    )
    with cluster.store.read() as session:
        return list(session.scalars(query))


def list_workspace_ids(cluster: Cluster) -> list[int]:
    """Of all there are, also those that have ended: what their jobs left behind stays readable."""
    with cluster.store.read() as session:
        return list(session.scalars(select(Workspace.id).order_by(Workspace.id)))


def read_workspace(cluster: Cluster, actor: Actor, workspace_id: int) -> Workspace:
    """With manager and members; raises NotFound."""
    with cluster.store.read() as session:
        return load_workspace(session, actor, workspace_id)


def read_units_in_use_of(cluster: Cluster, workspace_ids: Sequence[int]) -> dict[int, int]:
    """Units held by running attempts now, for each of the ids."""
    with cluster.store.read() as session:
        use = read_units_in_use(session)
    return {workspace_id: use.get(workspace_id, 0) for workspace_id in workspace_ids}


def read_quota_notice(cluster: Cluster, workspace: Workspace) -> tuple[str, dict[str, Any]] | None:
    """Code and data of what to say where more units are in use than the quota is now; None otherwise."""
    with cluster.store.read() as session:
        in_use = read_units_in_use(session).get(workspace.id, 0)
        kind = offered_unit_kind(session).value
    if in_use <= workspace.units:
        return None
    return "workspace.units_below_use", {"in_use": in_use, "units": workspace.units, "kind": kind}
