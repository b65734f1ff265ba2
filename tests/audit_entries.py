"""Reads the audit entries back for tests."""

from sqlalchemy import select

from cluster.services.context import Cluster
from cluster.store.audit import AuditEntry


def entries(cluster: Cluster) -> list[AuditEntry]:
    with cluster.store.read() as session:
        return list(session.scalars(select(AuditEntry).order_by(AuditEntry.id)))


def actions(cluster: Cluster) -> list[str]:
    return [entry.action for entry in entries(cluster)]
