"""Every table by name, so that migrations and tests see the whole schema through one import."""

from cluster.store import (
    alerts,
    audit,
    datasets,
    environments,
    facts,
    jobs,
    leases,
    nodes,
    operations,
    queue,
    repairs,
    trainings,
    users,
    workspaces,
)
from cluster.store.base import BaseRow

__all__ = [
    "alerts",
    "audit",
    "datasets",
    "environments",
    "facts",
    "jobs",
    "leases",
    "metadata",
    "nodes",
    "operations",
    "queue",
    "repairs",
    "trainings",
    "users",
    "workspaces",
]

metadata = BaseRow.metadata
