"""Lists audit entries for administrators. Every service writes them through cluster.store.audit."""

from datetime import datetime

from sqlalchemy import select

from cluster.domain.people.actor import Actor
from cluster.domain.people.permissions import require_administrator
from cluster.services.context import Cluster
from cluster.store.audit import IS_NOT_DONE, AuditEntry

MAX_PER_PAGE = 500


def list_audit_entries(
    cluster: Cluster,
    actor: Actor,
    *,
    actor_name: str | None = None,
    action: str | None = None,
    object_kind: str | None = None,
    object_id: int | None = None,
    outcome: str | None = None,
    since: datetime | None = None,
    until: datetime | None = None,
    before_id: int | None = None,
    limit: int = 50,
) -> list[AuditEntry]:
    """The entries, newest first. For the next page `before_id` is the last one's id."""
    require_administrator(actor)
    query = select(AuditEntry).order_by(AuditEntry.id.desc()).limit(max(1, min(limit, MAX_PER_PAGE)))
    wanted = {
        AuditEntry.actor_name: actor_name,
        AuditEntry.object_kind: object_kind,
        AuditEntry.object_id: object_id,
        AuditEntry.outcome: outcome,
        AuditEntry.action: action,
    }
    for column, value in wanted.items():
        if value is not None:
            query = query.where(column == value)
    if outcome not in (None, "done"):
        query = query.where(IS_NOT_DONE)
    if since is not None:
        query = query.where(AuditEntry.at >= since)
    if until is not None:
        query = query.where(AuditEntry.at < until)
    if before_id is not None:
        query = query.where(AuditEntry.id < before_id)
    with cluster.store.read() as session:
        return list(session.scalars(query))
