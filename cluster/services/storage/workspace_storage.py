"""Keeps how much each workspace stores, and the limit that an administrator has set.

The columns are written without the row's version: a measurement must not make somebody's open form stale.
"""

from datetime import datetime
from typing import Any

from sqlalchemy import Row, func, select, update
from sqlalchemy.orm import Session

from cluster.domain.people.actor import Actor
from cluster.domain.people.permissions import require_permission
from cluster.domain.storage.storage_limits import WorkspaceStorage, check_storage_limit, check_storage_room
from cluster.services.context import Cluster
from cluster.services.leases import HeldLease, check_lease
from cluster.services.people.access import load_workspace, workspace_relation
from cluster.services.storage.environment_storage import (
    StoredEnvironment,
    load_stored_environments,
    sum_environments,
)
from cluster.store.audit import add_audit_entry
from cluster.store.workspaces import Workspace

TABLE = Workspace.__table__


def storage_of(workspace: Workspace | Row[*tuple[Any, ...]]) -> WorkspaceStorage:
    return WorkspaceStorage(
        workspace.name,
        workspace.storage_limit_bytes,
        workspace.storage_used_bytes,
        workspace.storage_measured_at,
    )


def read_workspace_storage(cluster: Cluster, workspace_id: int) -> WorkspaceStorage:
    """Reads the workspace's storage for a task, without a check of rights."""
    with cluster.store.read() as session:
        return storage_of(session.get_one(Workspace, workspace_id))


def list_stored_environments(cluster: Cluster, workspace_id: int) -> list[StoredEnvironment]:
    """The environments that count to this workspace, by name."""
    with cluster.store.read() as session:
        return load_stored_environments(session).get(workspace_id, [])


def require_storage_room(workspace: Workspace, field: str, needed: int = 0) -> None:
    """Raises Refused on `field`; `needed` is the number of bytes that will be written, if it is known."""
    check_storage_room(storage_of(workspace), field, needed)


def set_storage_limit(
    cluster: Cluster, actor: Actor, workspace_id: int, limit: int | None, field: str = "limit"
) -> WorkspaceStorage:
    """Sets the limit; only administrators may. Raises Refused on `field`. Files that are stored already stay, even
    above the limit.
    """
    with cluster.store.write() as session:
        workspace = load_workspace(session, actor, workspace_id)
        require_permission("workspace.change_quota", workspace_relation(actor, workspace), workspace_id)
        before, after = storage_of(workspace), check_storage_limit(limit, field)
        if after != before.limit:
            session.execute(
                update(Workspace).where(Workspace.id == workspace_id).values(storage_limit_bytes=after)
            )
            add_audit_entry(
                session, cluster.clock(), actor, "workspace.storage_limited", workspace_id,
                name=workspace.name, limit_bytes=[before.limit, after],
            )  # fmt: skip
    cluster.events.publish("workspaces", workspace_id)
    return WorkspaceStorage(before.workspace, after, before.used, before.measured_at)


def add_stored_bytes(session: Session, workspace_id: int, size: int) -> None:
    """Adds bytes that were written since the last measurement; the next one replaces the sum."""
    used = func.coalesce(TABLE.c.storage_used_bytes, 0) + size
    session.execute(
        update(Workspace)
        .where(Workspace.id == workspace_id)
        .values(storage_used_bytes=used)
        .execution_options(synchronize_session=False)
    )


def list_workspace_ids(cluster: Cluster) -> list[int]:
    with cluster.store.read() as session:
        return list(session.scalars(select(Workspace.id).order_by(Workspace.id)))


def record_stored_bytes(
    cluster: Cluster, held: HeldLease, sizes: dict[int, int], measured_at: datetime
) -> None:
    """Records the measured folders with the environments that count to them. Raises LeaseLost. `measured_at` is when
    the measurement began.
    """
    with cluster.store.write() as session:
        check_lease(session, held)
        environments = sum_environments(session)
        for workspace_id, size in sizes.items():
            session.execute(
                update(Workspace)
                .where(Workspace.id == workspace_id)
                .values(
                    storage_used_bytes=size + environments.get(workspace_id, 0),
                    storage_measured_at=measured_at,
                )
            )
