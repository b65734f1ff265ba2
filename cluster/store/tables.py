"""Every table by name, so that migrations and tests see the whole schema through one import."""

from cluster.store import (
    audit,
    datasets,
    jobs,
    leases,
    node_tokens,
    nodes,
    operations,
    repairs,
    trainings,
    users,
    workspaces,
)
from cluster.store.base import BaseRow

__all__ = [
    "audit",
    "datasets",
    "jobs",
    "leases",
    "metadata",
    "node_tokens",
    "nodes",
    "notices",
    "operations",
    "queue",
    "repairs",
    "trainings",
    "users",
    "workspaces",
]

metadata = BaseRow.metadata
