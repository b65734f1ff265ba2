"""Lists workspaces by name and term alone, for filters and for what every page shows of all of them."""

from dataclasses import dataclass
from datetime import date, datetime

from sqlalchemy import select

from cluster.domain.people.actor import Actor
from cluster.services.context import Cluster
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
