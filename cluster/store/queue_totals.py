"""Waiting jobs counted by workspace and shape every few seconds, for estimates deep in the queue."""

from datetime import datetime

from sqlalchemy import ForeignKey, String
from sqlalchemy.orm import Mapped, mapped_column

from cluster.store.base import BaseRow


class QueueTotal(BaseRow):
    """Jobs of one shape in one workspace's line, held ones left out."""

    __tablename__ = "queue_totals"

    workspace_id: Mapped[int] = mapped_column(ForeignKey("workspaces.id"), primary_key=True)
    shape: Mapped[str] = mapped_column(String(40), primary_key=True)
    units: Mapped[int]
    """Of each of the jobs."""
    jobs: Mapped[int]
    seconds: Mapped[float | None]
    """How long one is expected to hold its units; None: not known."""
    counted_at: Mapped[datetime]
