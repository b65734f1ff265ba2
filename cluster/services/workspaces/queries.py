"""Reads workspaces, their summaries and the units that they use, as far as the person may see them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

from sqlalchemy import Select, func, orm, select

from cluster.domain.people.actor import Actor
from cluster.domain.workspace_edits import FieldChange, combine_changes
from cluster.services.context import Cluster
from cluster.services.people.access import load_workspace
from cluster.services.placement.capacity import read_units_in_use
from cluster.store.audit import AuditEntry
from cluster.store.nodes import offered_unit_kind
from cluster.store.sql.reader_statement import ReaderStatement
from cluster.store.sql.visibility import can_see_workspace
from cluster.store.workspaces import Workspace, WorkspaceMember


@dataclass(frozen=True)
class WorkspaceSummary:
    id: int
    name: str
    units: int
    manager_id: int
    starts_on: date
    ends_on: date
    ended_at: datetime | None


EDITED = frozenset({"name", "description", "starts_on", "ends_on", "units", "manager", "members"})
"""The fields of an edit, which the audit keeps as [before, after]."""
MOST_EDITS_SHOWN = 100
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
    """The workspaces of the person, or all for administrators, by name."""
    with cluster.store.read_columns() as connection:
        return [WorkspaceSummary(*row) for row in SUMMARIES.execute(connection, actor)]


def select_summaries(reader: Actor) -> Select[*tuple[Any, ...]]:
    return select(*SUMMARY_COLUMNS).where(can_see_workspace(reader)).order_by(Workspace.name)


SUMMARIES = ReaderStatement(select_summaries)


def list_workspaces_of_member(cluster: Cluster, actor: Actor, user_id: int) -> list[WorkspaceSummary]:
    """Lists by name the workspaces of a member that the actor may see."""
    is_member = Workspace.id.in_(
        select(WorkspaceMember.workspace_id).where(WorkspaceMember.user_id == user_id)
    )
    query = select(*SUMMARY_COLUMNS).where(can_see_workspace(actor), is_member).order_by(Workspace.name)
    with cluster.store.read() as session:
        return [WorkspaceSummary(*row) for row in session.execute(query)]


def list_workspaces(cluster: Cluster, actor: Actor) -> list[Workspace]:
    """The workspaces of the person, or all for administrators, by name, with manager and members."""
    query = (
        select(Workspace)
        .where(can_see_workspace(actor))
        .options(orm.joinedload(Workspace.manager), orm.selectinload(Workspace.members))
        .order_by(Workspace.name)
    )
    with cluster.store.read() as session:
        return list(session.scalars(query))


def list_workspaces_without_members(cluster: Cluster, actor: Actor) -> list[Workspace]:
    """Returns the workspaces that the person may see, with their managers alone."""
    query = select(Workspace).where(can_see_workspace(actor)).order_by(Workspace.name)
    with cluster.store.read() as session:
        return list(session.scalars(query.options(orm.joinedload(Workspace.manager))))


def count_members(cluster: Cluster, workspace_ids: Sequence[int]) -> dict[int, int]:
    """Returns workspace id → number of members; workspaces without members are left out."""
    by_workspace = WorkspaceMember.workspace_id
    query = select(by_workspace, func.count()).where(by_workspace.in_(workspace_ids)).group_by(by_workspace)
    with cluster.store.read() as session:
        return {row[0]: row[1] for row in session.execute(query)}


def list_workspace_ids(cluster: Cluster) -> list[int]:
    """The ids of all workspaces, including ended ones, because the files of their jobs can still be read."""
    with cluster.store.read() as session:
        return list(session.scalars(select(Workspace.id).order_by(Workspace.id)))


def read_workspace(cluster: Cluster, actor: Actor, workspace_id: int) -> Workspace:
    """The workspace with manager and members. Raises NotFound."""
    with cluster.store.read() as session:
        return load_workspace(session, actor, workspace_id)


def list_changes_since(cluster: Cluster, actor: Actor, workspace_id: int, version: int) -> list[FieldChange]:
    """Lists the changes by others since the person read this version. Each version has one entry in the audit."""
    with cluster.store.read() as session:
        workspace = load_workspace(session, actor, workspace_id)
        entries = session.scalars(
            select(AuditEntry)
            .where(
                AuditEntry.object_kind == "workspace",
                AuditEntry.object_id == workspace_id,
                AuditEntry.action.in_(("workspace.edited", "workspace.extended", "workspace.ended")),
            )
            .order_by(AuditEntry.id.desc())
            .limit(min(MOST_EDITS_SHOWN, max(0, workspace.version - version)))
        ).all()
    return combine_changes(
        [(entry.actor_name, entry.at, changed_fields(entry.data)) for entry in reversed(entries)]
    )


def changed_fields(data: Mapping[str, Any]) -> dict[str, list[Any]]:
    """[before, after] by field; other facts of an entry are no pairs."""
    return {name: pair for name, pair in data.items() if name in EDITED and isinstance(pair, list)}


def read_units_in_use_of(cluster: Cluster, workspace_ids: Sequence[int]) -> dict[int, int]:
    """The units that running attempts hold now, by workspace."""
    use = read_units_in_use_of_everybody(cluster)
    return {workspace_id: use.get(workspace_id, 0) for workspace_id in workspace_ids}


def read_units_in_use_of_everybody(cluster: Cluster) -> dict[int, int]:
    """Returns workspace id → units in use. Workspaces that use no unit are left out."""
    with cluster.store.read() as session:
        return read_units_in_use(session)


def read_quota_notice(cluster: Cluster, workspace: Workspace) -> tuple[str, dict[str, Any]] | None:
    """The code and data of a notice if more units are in use than the quota. None otherwise."""
    with cluster.store.read() as session:
        in_use = read_units_in_use(session).get(workspace.id, 0)
        kind = offered_unit_kind(session).value
    if in_use <= workspace.units:
        return None
    return "workspace.units_below_use", {"in_use": in_use, "units": workspace.units, "kind": kind}
