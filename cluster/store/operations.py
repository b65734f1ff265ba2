"""Operations: long work with steps, which a task worker claims with a lease and a fence."""

from datetime import datetime
from typing import Any

from sqlalchemy import ForeignKey, Index, String, text
from sqlalchemy.orm import Mapped, mapped_column, relationship

from cluster.domain.states import OperationState, TaskQueue
from cluster.store.base import BaseRow, enum_column
from cluster.store.users import User

OPEN = text("state IN ('requested', 'running', 'interrupted')")
IS_OPEN = text("operations.state IN ('requested', 'running', 'interrupted')")
"""The condition for queries. SQLite uses a partial index only if the query repeats the index's condition."""


class Operation(BaseRow):
    __tablename__ = "operations"
    __table_args__ = (
        Index("ix_operations_open", "state", "id", sqlite_where=OPEN, postgresql_where=OPEN),
        {"sqlite_autoincrement": True},  # An id names a log, so it is never given out twice.
    )

    id: Mapped[int] = mapped_column(primary_key=True)
    kind: Mapped[str] = mapped_column(String(40))
    """See cluster.domain.states.OperationKind."""
    queue: Mapped[TaskQueue] = mapped_column(enum_column(TaskQueue))
    subject_id: Mapped[int | None]
    """The id of the row on which the operation works, as a dataset or an environment."""
    workspace_id: Mapped[int | None] = mapped_column(ForeignKey("workspaces.id"))
    state: Mapped[OperationState] = mapped_column(
        enum_column(OperationState), default=OperationState.REQUESTED
    )
    steps: Mapped[list[Any]] = mapped_column(default=list)
    """[{code, state: to_come|now|done|failed, started_at, ended_at, detail}], times as ISO text."""
    progress: Mapped[float] = mapped_column(default=0.0)
    """A share, 0 to 1."""
    requested_by: Mapped[int] = mapped_column(ForeignKey("users.id"))
    requested_at: Mapped[datetime]
    retried_at: Mapped[datetime | None]
    """When a person last requested it again. Begin, end and error are those of the last try."""
    retried_by: Mapped[str | None] = mapped_column(String(64))
    """The name of that person."""
    enqueued_at: Mapped[datetime | None]
    started_at: Mapped[datetime | None]
    ended_at: Mapped[datetime | None]
    fence: Mapped[int] = mapped_column(default=0)
    """The number grows with each claim. Every change by a task compares it."""
    claims: Mapped[int] = mapped_column(default=0)
    """The number of claims since it was last requested."""
    holder: Mapped[str | None] = mapped_column(String(100))
    lease_until: Mapped[datetime | None]
    error_code: Mapped[str | None] = mapped_column(String(60))
    error_data: Mapped[dict[str, Any] | None]
    requester: Mapped[User] = relationship()
