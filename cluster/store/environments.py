"""Training environments and the state of their build."""

from datetime import datetime
from typing import Any

from sqlalchemy import ForeignKey, String
from sqlalchemy.orm import Mapped, mapped_column

from cluster.domain.states import EnvironmentState
from cluster.store.base import BaseRow, enum_column


class Environment(BaseRow):
    """A training environment, built from one description. The hash of its inputs identifies it."""

    __tablename__ = "environments"

    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(String(40))
    digest: Mapped[str] = mapped_column(String(64), unique=True)
    state: Mapped[EnvironmentState] = mapped_column(
        enum_column(EnvironmentState), default=EnvironmentState.MISSING
    )
    path: Mapped[str] = mapped_column(String(1000), default="")
    contents: Mapped[list[Any]] = mapped_column(default=list)
    """[[library, version, purpose], …] as read from the finished build."""
    operation_id: Mapped[int | None] = mapped_column(ForeignKey("operations.id"))
    created_at: Mapped[datetime]
    ready_at: Mapped[datetime | None]
