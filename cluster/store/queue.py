"""The scheduler's records of the queue: jobs counted by shape, and why those at the front wait."""

from datetime import datetime
from typing import Any

from sqlalchemy import ForeignKey, String
from sqlalchemy.orm import Mapped, mapped_column

from cluster.store.base import BaseRow


class QueueTotal(BaseRow):
    """Jobs of one shape in one workspace's line, held ones left out."""

    __tablename__ = "queue_totals"

    workspace_id: Mapped[int] = mapped_column(ForeignKey("workspaces.id"), primary_key=True)
    shape: Mapped[str] = mapped_column(String(40), primary_key=True)
    units: Mapped[int]
    """The units of each of the jobs."""
    jobs: Mapped[int]
    seconds: Mapped[float | None]
    """The seconds for which one is expected to hold its units; None if unknown."""
    counted_at: Mapped[datetime]


class QueueExplanation(BaseRow):
    """The explanation of one waiting job. It is written only if it changed. Once its job has stopped waiting, it is
    deleted with the next change.
    """

    __tablename__ = "queue_explanations"

    job_id: Mapped[int] = mapped_column(ForeignKey("jobs.id"), primary_key=True, autoincrement=False)
    fence: Mapped[int]
    """The job's fence when the row was written: after another attempt the row no longer counts."""
    code: Mapped[str] = mapped_column(String(60))
    data: Mapped[dict[str, Any]]
    """The facts of the reason and of the start estimate; of a job behind others those of the estimate alone."""
    written_at: Mapped[datetime]
